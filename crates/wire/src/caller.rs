//! What a request says about its caller. Nothing is verified here.

use crate::query::form;
use auth::CredentialScope;
use http::header;
use http::request::Parts;

/// The credential that a request names, in its `Authorization` header or, where it was presigned, in its URL.
///
/// Nothing where it is unsigned, or signed in a way that this server doesn't know.
///
/// Source: IAM User Guide, AWS Signature Version 4 for API requests.
pub fn credential_scope(parts: &Parts) -> Option<CredentialScope> {
    if let Some(header) = parts.headers.get(header::AUTHORIZATION) {
        let mut scope = CredentialScope::from_header(header.to_str().ok()?)?;
        let token = parts.headers.get("x-amz-security-token");
        scope.session_token = token.and_then(|token| token.to_str().ok()).map(str::to_owned);
        return Some(scope);
    }

    let parameter = |name: &str| {
        let pair = form::pairs(&parts.uri, b"").find(|pair| pair.raw_key() == name.as_bytes())?;
        Some(pair.value().ok()?.into_owned())
    };
    let mut scope = CredentialScope::parse(&parameter("X-Amz-Credential")?)?;
    scope.session_token = parameter("X-Amz-Security-Token");
    Some(scope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn check(request: http::request::Builder, expected: Option<&str>) {
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let seen = credential_scope(&parts).map(|scope| {
            let token = scope.session_token.unwrap_or_else(|| "-".into());
            format!("{} {} {} {} {token}", scope.access_key, scope.date, scope.region, scope.service)
        });
        assert_eq!(seen.as_deref(), expected, "{parts:?}");
    }

    #[test]
    fn the_header_names_the_credential() {
        let signed = |value: &str| Request::post("/").header("Authorization", value);
        let full =
            "AWS4-HMAC-SHA256 Credential=AKID/20250603/us-west-2/sqs/aws4_request, SignedHeaders=host, Signature=ab";
        check(signed(full), Some("AKID 20250603 us-west-2 sqs -"));
        check(signed(full).header("X-Amz-Security-Token", "tok/en=="), Some("AKID 20250603 us-west-2 sqs tok/en=="));
        check(
            signed("AWS4-HMAC-SHA256 SignedHeaders=host,Credential=a/b/20250603/r/s/aws4_request"),
            Some("a/b 20250603 r s -"),
        );
        for other in [
            "Basic dGVzdA==",
            "Bearer token",
            "AWS4-HMAC-SHA256",
            "AWS4-HMAC-SHA256 Credential=AKID/20250603/us-west-2/sqs, Signature=ab",
            "AWS4-HMAC-SHA256 Credential=/20250603/us-west-2/sqs/aws4_request",
            "AWS4-ECDSA-P256-SHA256 Credential=AKID/20250603/sqs/aws4_request",
        ] {
            check(signed(other), None);
        }
        check(Request::post("/"), None);
    }

    #[test]
    fn a_presigned_url_names_it_too() {
        let credential = "X-Amz-Credential=AKID%2F20250603%2Fus-west-2%2Fsqs%2Faws4_request";
        check(Request::get(format!("/?Action=ListQueues&{credential}")), Some("AKID 20250603 us-west-2 sqs -"));
        let with_token = format!("/1/q?{credential}&X-Amz-Security-Token=a%2Bb");
        check(Request::get(with_token), Some("AKID 20250603 us-west-2 sqs a+b"));
        check(Request::get("/?X-Amz-Credential=AKID%2"), None);
    }
}
