//! Which operation is this request, and in which protocol does it want its answer?
//!
//! ```text
//!   X-Amz-Target: AmazonSQS.SendMessage      JSON      the operation is in the header, its members in the body
//!   Content-Type: application/x-amz-json-…   JSON      without a target: an error, answered in JSON
//!   anything else                            Query     Action=SendMessage in the URL or in the form that is the body
//! ```

use crate::{json, query};
use api::{Error, ErrorKind, Service, sqs};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Uri, header};
use serde::de::DeserializeOwned;

/// How requests and replies are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireProtocol {
    /// JSON bodies, the operation in `X-Amz-Target`.
    AwsJson10,
    /// Parameters in a form or a URL, answers in XML.
    Query,
}

/// A request of which the operation is known and the members are still to be read.
#[derive(Clone, Debug)]
pub struct Call {
    pub protocol: WireProtocol,
    pub service: Service,
    /// One that AWS has, though perhaps one of [`sqs::NOT_BUILT`]: `SendMessage`
    pub operation: String,
    members: Members,
}

/// Where the members of a request are.
#[derive(Clone, Debug)]
enum Members {
    Json(Bytes),
    /// In the URL and in the body, which is a form.
    Form {
        uri: Uri,
        body: Bytes,
    },
}

/// A request that is no call, and the protocol in which to say so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    pub protocol: WireProtocol,
    pub error: Error,
}

/// What comes before the operation's name in `X-Amz-Target`.
const SQS_TARGET: &str = "AmazonSQS.";

/// The version of the API, as `Version` names it in the Query protocol.
const SQS_VERSION: &str = "2012-11-05";

/// The operations that act on no queue, so that the address of a queue doesn't serve them.
///
/// Observed: ListQueues at a queue's address is refused by SQS. Chosen: CreateQueue likewise.
const NOT_AT_A_QUEUE: &[&str] = &["ListQueues", "CreateQueue"];

/// The protocol in which a request wants its answer, whatever the answer is. Needs no body.
pub fn protocol(parts: &Parts) -> WireProtocol {
    let says_json = || {
        let content_type = parts.headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes()).unwrap_or_default();
        let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        ["application/x-amz-json-1.0", "application/x-amz-json-1.1", "application/json"]
            .iter()
            .any(|json| essence.eq_ignore_ascii_case(json.as_bytes()))
    };
    if parts.headers.contains_key("x-amz-target") || says_json() {
        WireProtocol::AwsJson10
    } else {
        WireProtocol::Query
    }
}

/// Finds the operation that a request asks for.
///
/// `body` is the whole body, decompressed; its length is bounded by whoever read it.
///
/// Errors: [`ErrorKind::UnknownOperation`] and [`ErrorKind::InvalidAction`] for an operation that doesn't exist, for a
/// method other than POST (and GET, in the Query protocol), and for an address that doesn't serve the operation;
/// [`ErrorKind::MissingAction`]; [`ErrorKind::InvalidParameterValue`] for another version of the API;
/// [`ErrorKind::Serialization`] where a parameter is badly escaped.
pub fn detect(parts: &Parts, body: Bytes) -> Result<Call, Rejected> {
    let protocol = protocol(parts);
    let call = match protocol {
        WireProtocol::AwsJson10 => detect_json(parts, body),
        WireProtocol::Query => detect_query(parts, body),
    };
    call.map_err(|error| Rejected { protocol, error })
}

fn detect_json(parts: &Parts, body: Bytes) -> Result<Call, Error> {
    let unknown = |message: String| Error::new(ErrorKind::UnknownOperation, message);
    if parts.method != Method::POST {
        return Err(unknown(format!("A JSON request is a POST; this one is a {}.", clipped(parts.method.as_str()))));
    }
    let target = parts.headers.get("x-amz-target").ok_or_else(|| {
        unknown("The request has no X-Amz-Target header to say which operation it wants: AmazonSQS.SendMessage".into())
    })?;
    let operation = target.to_str().ok().and_then(|target| target.strip_prefix(SQS_TARGET)).filter(|name| exists(name));
    let Some(operation) = operation else {
        let target = String::from_utf8_lossy(target.as_bytes());
        return Err(unknown(format!("The operation {} does not exist.", clipped(&target))));
    };
    Ok(Call {
        protocol: WireProtocol::AwsJson10,
        service: Service::Sqs,
        operation: operation.to_owned(),
        members: Members::Json(body),
    })
}

fn detect_query(parts: &Parts, body: Bytes) -> Result<Call, Error> {
    if parts.method != Method::POST && parts.method != Method::GET {
        let method = clipped(parts.method.as_str());
        return Err(Error::new(ErrorKind::InvalidAction, format!("The HTTP method {method} is not served here.")));
    }
    let (mut action, mut version) = (None, None);
    for pair in query::form::pairs(&parts.uri, &body) {
        let wanted = match pair.raw_key() {
            b"Action" => &mut action,
            b"Version" => &mut version,
            _ => continue,
        };
        if wanted.is_none() {
            *wanted = Some(pair.value()?);
        }
    }

    let action = action.filter(|action| !action.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::MissingAction, "The request must contain the parameter Action: Action=SendMessage")
    })?;
    if !exists(&action) || (NOT_AT_A_QUEUE.contains(&&*action) && query::is_queue_path(parts.uri.path())) {
        let message = format!("The action {} is not valid for this endpoint.", clipped(&action));
        return Err(Error::new(ErrorKind::InvalidAction, message));
    }
    if let Some(version) = version.filter(|version| version != SQS_VERSION) {
        let message = format!(
            "Value {} for parameter Version is invalid. Reason: The version of this API is {SQS_VERSION}.",
            clipped(&version)
        );
        return Err(Error::new(ErrorKind::InvalidParameterValue, message));
    }
    Ok(Call {
        protocol: WireProtocol::Query,
        service: Service::Sqs,
        operation: action.into_owned(),
        members: Members::Form { uri: parts.uri.clone(), body },
    })
}

/// Does AWS have this operation, whether or not we do?
fn exists(operation: &str) -> bool {
    sqs::BUILT.contains(&operation) || sqs::NOT_BUILT.contains(&operation)
}

impl Call {
    /// Reads the members of the request.
    ///
    /// Members that `T` doesn't know are skipped. An empty JSON body is an object without members, so that the
    /// operation can say what it misses.
    ///
    /// Errors: [`ErrorKind::Serialization`] where the body isn't what the protocol says it is, or a member has another
    /// type than AWS gives it; [`ErrorKind::InvalidParameterValue`] for a request of more than 10,000 members.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        match &self.members {
            Members::Json(body) => json::decode(body),
            Members::Form { uri, body } => query::decode(&self.operation, uri, body),
        }
    }

    /// Lets go of the request's bytes once they have been decoded: an answer can take its time.
    pub fn forget_members(&mut self) {
        self.members = Members::Json(Bytes::new());
    }
}

/// Most members, items of lists and parameters in one request.
///
/// Chosen: a full batch with all attributes has fewer than 500, and each costs far more memory than the few bytes that
/// it takes to write one.
pub(crate) const MEMBERS_MAX: usize = 10_000;

pub(crate) fn too_many_members() -> Error {
    let message =
        format!("One or more parameters are invalid. Reason: The request has more than {MEMBERS_MAX} members.");
    Error::new(ErrorKind::InvalidParameterValue, message)
}

/// What a client said, short enough to be said back.
pub(crate) fn clipped(text: &str) -> &str {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
