//! Behaviour as text: the same file, run at every altitude, must give the same words.
//!
//! ```text
//!   scenarios/**/*.txt ──▶ Script ──▶ Runner ──Call──▶ Driver
//!                             ▲          │               ├─ CoreDriver      the bare shard
//!                             └──lines───┘               ├─ CoreDriver      killed and recovered after every step
//!                                                        └─ ServerDriver    the program, in JSON or in Query
//! ```
//!
//! A scenario is a sequence of commands, each with the lines that it prints:
//!
//! ```text
//! # A received message is hidden until its visibility timeout passes.
//! # Source: SQS Developer Guide, Visibility timeout.
//!
//! send hello
//! receive visibility=30s
//!   hello receives=1
//! receive
//!   (none)
//! ```
//!
//! The commands are those of [`Runner`]. What succeeds without anything to tell prints nothing; what is refused prints
//! `error` and the code of AWS's. `UPDATE_SCENARIOS=1 cargo test --release -p scenario` rewrites the indented lines.

mod args;
mod call;
mod core_driver;
mod driver;
mod http;
mod query;
mod runner;
mod script;
mod server;
mod server_driver;
mod shown;

pub use call::{Call, Code, Message, Received, Reply};
pub use core_driver::{CoreDriver, Kept};
pub use driver::Driver;
pub use runner::{Runner, STOPPED};
pub use script::{Altitude, Script};
pub use server::Server;
pub use server_driver::{Protocol, ServerDriver};
