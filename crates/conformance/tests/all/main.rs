//! Tests against the real binary that need Rust: the Rust SDK, and what takes more requests than Python can send.

mod architecture;
mod backup;
mod kill;
mod ledger;
mod power_cut;
mod quota;
mod sdk;
