//! Whom a request is carried out for.

use crate::CredentialScope;
use model::{AccountId, Region};

/// The caller of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    pub account: AccountId,
    pub region: Region,
    /// Nothing where the request wasn't signed.
    pub access_key: Option<String>,
    /// `arn:aws:iam::123456789012:root`
    pub principal_arn: String,
    /// What a message's system attribute `SenderId` shows.
    pub sender_id: String,
}

impl Caller {
    /// Takes a request at its word: nothing about `scope` was verified.
    ///
    /// An access key of twelve digits names an account, and its root user is the caller; whoever shows another key, or
    /// none, is the root user of `default_account`. A Region that can't be one gives way to `default_region`.
    ///
    /// Chosen: account numbers as access keys are what users of local stacks know.
    pub fn unverified(scope: Option<&CredentialScope>, default_account: &AccountId, default_region: &Region) -> Self {
        let account = scope.and_then(|scope| AccountId::parse(&scope.access_key)).unwrap_or(default_account.clone());
        let region = scope.and_then(|scope| Region::parse(&scope.region)).unwrap_or(default_region.clone());
        Self {
            principal_arn: format!("arn:aws:iam::{account}:root"),
            // Source: IAM User Guide, Unique identifiers: that of a root user is the account's number.
            sender_id: account.to_string(),
            access_key: scope.map(|scope| scope.access_key.clone()),
            account,
            region,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(credential: Option<&str>, expected: &str) {
        let scope = credential.map(|credential| CredentialScope::parse(credential).expect("a credential"));
        let account = AccountId::parse("000000000000").expect("twelve digits");
        let region = Region::parse("us-east-1").expect("a Region");
        let caller = Caller::unverified(scope.as_ref(), &account, &region);
        let key = caller.access_key.as_deref().unwrap_or("-");
        assert_eq!(format!("{} {} {} {key}", caller.principal_arn, caller.region, caller.sender_id), expected);
    }

    #[test]
    fn an_access_key_can_name_an_account() {
        check(None, "arn:aws:iam::000000000000:root us-east-1 000000000000 -");
        check(
            Some("123456789012/20250603/eu-west-1/sqs/aws4_request"),
            "arn:aws:iam::123456789012:root eu-west-1 123456789012 123456789012",
        );
        check(
            Some("AKIAIOSFODNN7EXAMPLE/20250603/eu-west-1/sqs/aws4_request"),
            "arn:aws:iam::000000000000:root eu-west-1 000000000000 AKIAIOSFODNN7EXAMPLE",
        );
        check(
            Some("test/20250603/NO REGION/sqs/aws4_request"),
            "arn:aws:iam::000000000000:root us-east-1 000000000000 test",
        );
    }
}
