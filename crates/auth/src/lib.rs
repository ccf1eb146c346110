//! Who is calling, and may they?

mod scope;

pub use scope::CredentialScope;
