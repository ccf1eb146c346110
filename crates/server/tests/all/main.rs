//! The server over real sockets, in this process, without a disk.

mod bodies;
mod browsers;
mod connections;
mod hang_ups;
mod kit;
mod operations;
mod shutdown;
