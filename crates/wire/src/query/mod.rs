//! The AWS Query protocol: parameters with dotted names come in, XML goes out.

mod de;
pub mod form;
pub mod names;
pub mod xml;

use api::Error;
use http::Uri;
use model::QueueAddress;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Reads a request from the parameters in its URL and in its body.
///
/// A request sent to the address of a queue needs no `QueueUrl`: the path is one. A parameter given twice counts as
/// first written, the URL before the body. Chosen: AWS doesn't say.
pub fn decode<T: DeserializeOwned>(operation: &str, uri: &Uri, body: &[u8]) -> Result<T, Error> {
    let mut parameters = form::parameters(uri, body)?;
    if uri.path() != "/" {
        // Last, so that it yields to one in the request.
        parameters.push(form::Parameter { key: Cow::Borrowed("QueueUrl"), value: Cow::Borrowed(uri.path()) });
    }
    de::from_parameters(operation, parameters)
}

/// Is this path the address of a queue, `/{account}/{name}`?
pub fn is_queue_path(path: &str) -> bool {
    QueueAddress::parse(path).is_some_and(|address| address.account.is_some())
}
