//! May a caller do this?

use crate::Caller;
use std::fmt;

/// A caller may not do what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Denied {
    pub principal_arn: String,
    pub action: &'static str,
    pub resource_arn: String,
}

/// Decides whether `caller` may do `action` (`sqs:SendMessage`) to the resource.
///
/// Everything is allowed as long as signatures aren't verified: nobody is known, so nobody can be kept out. Policies
/// will be evaluated here.
pub fn authorize(_caller: &Caller, _action: &'static str, _resource_arn: &str) -> Result<(), Denied> {
    Ok(())
}

impl fmt::Display for Denied {
    /// Source: IAM User Guide, Troubleshoot access denied error messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { principal_arn, action, resource_arn } = self;
        write!(f, "User: {principal_arn} is not authorized to perform: {action} on resource: {resource_arn}")
    }
}

impl std::error::Error for Denied {}
