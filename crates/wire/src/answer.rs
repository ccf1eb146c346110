//! Replies and errors, as HTTP responses.

use crate::call::{Call, WireProtocol};
use crate::{json, query};
use api::{Error, ErrorKind, Fault};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde::Serialize;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");

/// Answers a call with what it asked for, in the protocol that it came in.
///
/// A reply type without members (`api::sqs::Done`) is an empty body in JSON, and an element `…Response` without
/// `…Result` in XML.
///
/// Observed: empty bodies in recordings of DeleteMessage and DeleteQueue, June 2025.
pub fn reply<T: Serialize>(call: &Call, reply: &T, request_id: &str) -> Response<Bytes> {
    let has_members = size_of::<T>() > 0;
    let body = match call.protocol {
        WireProtocol::AwsJson10 if !has_members => Ok(Bytes::new()),
        WireProtocol::AwsJson10 => json::encode(reply).map_err(|error| error.to_string()),
        WireProtocol::Query => query::xml::encode(&call.operation, has_members.then_some(reply), request_id)
            .map_err(|error| error.to_string()),
    };
    match body {
        Ok(body) => response(StatusCode::OK, call.protocol, body, request_id),
        Err(reason) => {
            let message = format!("The reply of {} cannot be written: {reason}", call.operation);
            error(call.protocol, &Error::new(ErrorKind::InternalFailure, message), request_id)
        }
    }
}

/// Says no.
pub fn error(protocol: WireProtocol, error: &Error, request_id: &str) -> Response<Bytes> {
    let status = StatusCode::from_u16(error.kind.status()).expect("every error has a status that HTTP knows");
    match protocol {
        WireProtocol::AwsJson10 => {
            let body = json::encode_error(error).expect("an object of two strings is always JSON");
            let mut response = response(status, protocol, body, request_id);
            let code = format!("{};{}", error.kind.query_code(), fault(error.kind));
            response.headers_mut().insert(QUERY_ERROR, header_value(&code));
            response
        }
        WireProtocol::Query => response(status, protocol, query::xml::encode_error(error, request_id), request_id),
    }
}

/// Whose fault it was, as both protocols spell it.
pub(crate) fn fault(kind: ErrorKind) -> &'static str {
    match kind.fault() {
        Fault::Sender => "Sender",
        Fault::Receiver => "Receiver",
    }
}

fn response(status: StatusCode, protocol: WireProtocol, body: Bytes, request_id: &str) -> Response<Bytes> {
    let content_type = match protocol {
        WireProtocol::AwsJson10 => "application/x-amz-json-1.0",
        WireProtocol::Query => "text/xml",
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(REQUEST_ID, header_value(request_id));
    response
}

/// For text of our own making.
fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("request ids and error codes are printable ASCII")
}
