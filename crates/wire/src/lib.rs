//! AWS's wire protocols, to and from the plain data of `api`.
//!
//! ```text
//!   http request ──detect──▶ Call ──decode──▶ api request
//!                             │
//!   http response ◀──reply────┴────────────── api reply
//!                 ◀──error─────────────────── api error
//! ```
//!
//! Everything here is a pure function over bytes. One serde derive per type in `api` serves every protocol: JSON through
//! serde_json, the Query protocol through a deserializer over its flattened parameter names and a serializer that
//! writes XML. Where the two protocols call a member by different names, one table says so: `query::names`.

mod answer;
mod call;
mod caller;
mod json;
mod query;

pub use answer::{error, reply};
pub use auth::CredentialScope;
pub use call::{Call, Rejected, WireProtocol, detect, protocol};
pub use caller::credential_scope;
