//! One request, from its bytes to those of its answer.

pub mod app;
mod backup;
mod body;
mod operations;
mod origin;
mod panics;
mod pipeline;
mod place;

pub use app::App;
pub use backup::Peer;
pub use pipeline::answer;
