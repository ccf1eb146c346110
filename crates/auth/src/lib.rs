//! Who is calling, and may they?

mod authorize;
mod caller;
mod scope;

pub use authorize::{Denied, authorize};
pub use caller::Caller;
pub use scope::CredentialScope;
