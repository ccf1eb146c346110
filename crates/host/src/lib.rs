//! The machine, as traits: clock, entropy, disk. Each has a real implementation and a fake one.
//!
//! Nothing else in the project reads the clock, draws randomness or touches the disk.

pub mod clock;
pub mod disk;
pub mod entropy;
