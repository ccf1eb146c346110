//! Tests against the real binary that need Rust: the Rust SDK, and what takes more requests than Python can send.

mod kill;
mod quota;
mod sdk;
