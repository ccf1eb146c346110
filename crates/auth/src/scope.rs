//! The credential scope: which key signed, when, and for which Region and service.
//!
//! ```text
//!   AKIAIOSFODNN7EXAMPLE/20250603/us-west-2/sqs/aws4_request
//!   access key           date     Region    service
//! ```

/// What a signature claims about itself, not yet verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CredentialScope {
    pub access_key: String,
    /// `20250603`
    pub date: String,
    /// As the client wrote it; a Region only once it is read as one.
    pub region: String,
    /// `sqs`
    pub service: String,
    pub session_token: Option<String>,
}

impl CredentialScope {
    /// Longest credential that is read. Chosen: AWS's keys have at most 128 characters, and the rest is short.
    const BYTES_MAX: usize = 512;

    /// Reads a credential as `X-Amz-Credential` holds it. Its last four parts are the scope; an access key may have
    /// slashes.
    pub fn parse(credential: &str) -> Option<Self> {
        if credential.len() > Self::BYTES_MAX {
            return None;
        }
        let mut parts = credential.rsplitn(5, '/');
        let terminator = parts.next()?;
        let (service, region, date, access_key) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let complete = [service, region, date, access_key].iter().all(|part| !part.is_empty());
        (terminator == "aws4_request" && complete).then(|| Self {
            access_key: access_key.into(),
            date: date.into(),
            region: region.into(),
            service: service.into(),
            session_token: None,
        })
    }

    /// Reads an `Authorization` header: `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`
    pub fn from_header(authorization: &str) -> Option<Self> {
        let fields = authorization.trim_start().strip_prefix("AWS4-HMAC-SHA256")?;
        let credential = fields.split(',').find_map(|field| field.trim().strip_prefix("Credential="))?;
        Self::parse(credential.trim_end())
    }
}
