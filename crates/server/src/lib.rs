//! The program: everything between the operating system and the operations.
//!
//! ```text
//!   main ──▶ cli ──▶ config ──▶ settings           what was asked for
//!                       │
//!                       ▼
//!                    serve ──▶ engine              start, run, shut down
//!                       │
//!                       ▼
//!   socket ──▶ listen ──▶ http::pipeline ──▶ wire · auth · service
//!                │             ├─ body             read, bounded, decompressed
//!                │             ├─ place            where did the client think we are?
//!                │             ├─ origin           which web pages may ask
//!                │             └─ operations       health, ready, the test clock, backups
//!                └─ connection by connection
//! ```
//!
//! Nothing else in the project reads configuration or the environment.

pub mod backup;
pub mod cli;
pub mod config;
mod http;
pub mod inspect;
mod listen;
mod log;
pub mod serve;
pub mod settings;
