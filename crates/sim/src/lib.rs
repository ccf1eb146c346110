//! A whole engine on a machine that misbehaves, again and again, each time from one number.
//!
//! ```text
//!   seed ──▶ plan: set-up and steps ──▶ world: engine, disk, clock, clients ──▶ promises kept? ──▶ reach, hash
//!                    ▲                                                               │ no
//!                    └────────────────────── fewer steps ◀───────────────────────────┘
//! ```
//!
//! The same seed gives the same run, so a failure is a number that anyone can replay. See [`plan`] for what happens in a
//! run, [`promises`] for what is checked, and [`sabotage`] for what proves that the checks find something.

mod chance;
mod helper;
mod panics;
pub mod plan;
pub mod promises;
pub mod sabotage;
mod shorten;
mod trace;
mod world;

pub use shorten::shorten;
pub use trace::EXPECTED;
pub use trace::Reach;
pub use world::{Failure, Run, run};
