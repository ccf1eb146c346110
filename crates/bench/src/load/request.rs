//! Requests as the bytes that go over the wire, and the few values that are read from replies.
//!
//! A request that is always the same is encoded once and sent a million times. Only deleting needs new bytes each time:
//! its receipt handles are copied from the reply to the receive before it, without parsing either.

use memchr::memmem;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt::Write;

/// The wire protocols of SQS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Wire {
    /// AWS JSON 1.0, as current SDKs speak it.
    Json,
    /// AWS Query: a form out, XML back.
    Query,
}

/// Encodes requests for one server.
///
/// They carry the headers that an SDK sends. The signature is well-formed and made up: no server here verifies it.
#[derive(Clone, Debug)]
pub struct Encoder {
    wire: Wire,
    /// The headers that are the same in every request.
    headers: String,
}

impl Encoder {
    /// For the server at `host` (`name:port`), as a caller with that access key in that Region.
    pub fn new(wire: Wire, host: &str, access_key: &str, region: &str) -> Self {
        let content_type = match wire {
            Wire::Json => "application/x-amz-json-1.0",
            Wire::Query => "application/x-www-form-urlencoded; charset=utf-8",
        };
        let signature = "0123456789abcdef".repeat(4);
        let headers = format!(
            "Host: {host}\r\nUser-Agent: posthouse-bench\r\nContent-Type: {content_type}\r\n\
             X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={access_key}/20260101/{region}/sqs/aws4_request, SignedHeaders=host;x-amz-date, \
             Signature={signature}\r\n"
        );
        Self { wire, headers }
    }

    pub fn create_queue(&self, name: &str) -> Vec<u8> {
        self.request("CreateQueue", &[("QueueName", name)])
    }

    pub fn delete_queue(&self, queue_url: &str) -> Vec<u8> {
        self.request("DeleteQueue", &[("QueueUrl", queue_url)])
    }

    pub fn list_queues(&self) -> Vec<u8> {
        self.request("ListQueues", &[])
    }

    /// One message alone for `batch` = 1, else that many with SendMessageBatch.
    pub fn send(&self, queue_url: &str, batch: usize, body_bytes: usize) -> Vec<u8> {
        let body = message_body(body_bytes);
        if batch == 1 {
            return self.request("SendMessage", &[("QueueUrl", queue_url), ("MessageBody", &body)]);
        }
        let mut out = Vec::new();
        let entries = (0..batch).map(|_| body.as_bytes());
        self.batch("SendMessageBatch", queue_url, "MessageBody", entries, &mut out);
        out
    }

    pub fn receive(&self, queue_url: &str, messages_max: usize, wait_seconds: u32) -> Vec<u8> {
        let (messages_max, wait_seconds) = (messages_max.to_string(), wait_seconds.to_string());
        let members = [
            ("QueueUrl", queue_url),
            ("MaxNumberOfMessages", &messages_max[..]),
            ("WaitTimeSeconds", &wait_seconds[..]),
        ];
        self.request("ReceiveMessage", &members)
    }

    /// Writes a DeleteMessageBatch to `out`, replacing what is there. The handles are as [`values`] found them.
    pub fn delete<'a>(&self, queue_url: &str, handles: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
        self.batch("DeleteMessageBatch", queue_url, "ReceiptHandle", handles, out);
    }

    /// Any request, in AWS JSON whatever the encoder's own wire protocol is.
    pub fn json(&self, operation: &str, members: &serde_json::Value) -> Vec<u8> {
        let body = members.to_string();
        let mut out = Vec::new();
        Self { wire: Wire::Json, ..self.clone() }.head(operation, body.len(), &mut out);
        out.extend_from_slice(body.as_bytes());
        out
    }

    /// A request whose members are plain strings, or numbers where SQS wants one.
    fn request(&self, operation: &str, members: &[(&str, &str)]) -> Vec<u8> {
        let mut body = String::new();
        match self.wire {
            Wire::Json => {
                body.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    let is_number = value.bytes().all(|byte| byte.is_ascii_digit()) && *name != "QueueName";
                    let quote = if is_number { "" } else { "\"" };
                    let _ = write!(body, "{comma}\"{name}\":{quote}{value}{quote}");
                }
                body.push('}');
            }
            Wire::Query => {
                let _ = write!(body, "Action={operation}&Version=2012-11-05");
                for (name, value) in members {
                    let _ = write!(body, "&{name}={}", form_encoded(value));
                }
            }
        }
        let mut out = Vec::new();
        self.head(operation, body.len(), &mut out);
        out.extend_from_slice(body.as_bytes());
        out
    }

    /// A batch request whose entries have an id and one more member. The values go out as they are in JSON, and
    /// form-encoded in Query.
    fn batch<'a>(
        &self,
        operation: &str,
        queue_url: &str,
        member: &str,
        values: impl Iterator<Item = &'a [u8]>,
        out: &mut Vec<u8>,
    ) {
        let mut body = Vec::with_capacity(4096);
        match self.wire {
            Wire::Json => {
                body.extend_from_slice(b"{\"QueueUrl\":\"");
                body.extend_from_slice(queue_url.as_bytes());
                body.extend_from_slice(b"\",\"Entries\":[");
                for (index, value) in values.enumerate() {
                    body.extend_from_slice(if index == 0 { b"{\"Id\":\"" } else { b",{\"Id\":\"" });
                    body.extend_from_slice(index.to_string().as_bytes());
                    for part in [b"\",\"", member.as_bytes(), b"\":\"", value, b"\"}"] {
                        body.extend_from_slice(part);
                    }
                }
                body.extend_from_slice(b"]}");
            }
            Wire::Query => {
                let url = form_encoded(queue_url);
                let mut text = format!("Action={operation}&Version=2012-11-05&QueueUrl={url}");
                for (index, value) in values.enumerate() {
                    let (entry, value) = (index + 1, form_encoded(&String::from_utf8_lossy(value)));
                    let prefix = format!("{operation}RequestEntry.{entry}");
                    let _ = write!(text, "&{prefix}.Id={index}&{prefix}.{member}={value}");
                }
                body = text.into_bytes();
            }
        }
        out.clear();
        self.head(operation, body.len(), out);
        out.extend_from_slice(&body);
    }

    fn head(&self, operation: &str, body_bytes: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"POST / HTTP/1.1\r\n");
        out.extend_from_slice(self.headers.as_bytes());
        if self.wire == Wire::Json {
            for part in ["X-Amz-Target: AmazonSQS.", operation, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        for part in ["Content-Length: ", &body_bytes.to_string(), "\r\n\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// A body of so many bytes that needs no escaping in either wire protocol.
fn message_body(bytes: usize) -> String {
    "PosthouseMessageBody".chars().cycle().take(bytes).collect()
}

fn form_encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The values of a member in a reply, such as all receipt handles, still escaped as they came.
///
/// Finds `"name": "value"` in JSON and `<name>value</name>` in XML by looking for the name alone, so it is only good for
/// names that no message body of ours holds.
pub fn values<'a>(reply: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let is_xml = reply.first() == Some(&b'<');
    let finder = memmem::Finder::new(name);
    let mut rest = reply;
    std::iter::from_fn(move || {
        loop {
            let at = finder.find(rest)?;
            let before = at.checked_sub(1).map(|before| rest[before]);
            rest = &rest[at + name.len()..];
            let value = match is_xml {
                true if before == Some(b'<') && rest.first() == Some(&b'>') => &rest[1..],
                false if before == Some(b'"') && rest.first() == Some(&b'"') => {
                    let value = rest[1..].trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
                    match value.and_then(|value| value.strip_prefix(b"\"")) {
                        Some(value) => value,
                        None => continue,
                    }
                }
                _ => continue,
            };
            let end = memchr::memchr(if is_xml { b'<' } else { b'"' }, value)?;
            rest = &value[end..];
            return Some(&value[..end]);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://h:1/000000000000/q";

    fn encoder(wire: Wire) -> Encoder {
        Encoder::new(wire, "h:1", "test", "us-east-1")
    }

    /// The request's body, having checked that its head tells the right length.
    fn body(request: Vec<u8>) -> String {
        let text = String::from_utf8(request).expect("requests are text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head ends with an empty line");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        assert!(head.starts_with("POST / HTTP/1.1\r\nHost: h:1\r\n"), "{head}");
        body.to_owned()
    }

    fn delete(wire: Wire, handles: &[&str]) -> Vec<u8> {
        let mut out = b"left from before".to_vec();
        encoder(wire).delete(URL, handles.iter().map(|handle| handle.as_bytes()), &mut out);
        out
    }

    #[test]
    fn requests_in_both_wire_protocols() {
        let (json, query) = (encoder(Wire::Json), encoder(Wire::Query));
        let cases = [
            (json.create_queue("7"), r#"{"QueueName":"7"}"#),
            (query.create_queue("7"), "Action=CreateQueue&Version=2012-11-05&QueueName=7"),
            (json.list_queues(), "{}"),
            (json.send(URL, 1, 5), r#"{"QueueUrl":"http://h:1/000000000000/q","MessageBody":"Posth"}"#),
            (
                json.send(URL, 2, 1),
                r#"{"QueueUrl":"http://h:1/000000000000/q","Entries":[{"Id":"0","MessageBody":"P"},{"Id":"1","MessageBody":"P"}]}"#,
            ),
            (
                query.send(URL, 2, 1),
                "Action=SendMessageBatch&Version=2012-11-05&QueueUrl=http%3A%2F%2Fh%3A1%2F000000000000%2Fq\
                 &SendMessageBatchRequestEntry.1.Id=0&SendMessageBatchRequestEntry.1.MessageBody=P\
                 &SendMessageBatchRequestEntry.2.Id=1&SendMessageBatchRequestEntry.2.MessageBody=P",
            ),
            (
                json.receive(URL, 10, 20),
                r#"{"QueueUrl":"http://h:1/000000000000/q","MaxNumberOfMessages":10,"WaitTimeSeconds":20}"#,
            ),
            (
                delete(Wire::Json, &["a/b"]),
                r#"{"QueueUrl":"http://h:1/000000000000/q","Entries":[{"Id":"0","ReceiptHandle":"a/b"}]}"#,
            ),
            (
                delete(Wire::Query, &["a/b"]),
                "Action=DeleteMessageBatch&Version=2012-11-05&QueueUrl=http%3A%2F%2Fh%3A1%2F000000000000%2Fq\
                 &DeleteMessageBatchRequestEntry.1.Id=0&DeleteMessageBatchRequestEntry.1.ReceiptHandle=a%2Fb",
            ),
        ];
        for (request, wanted) in cases {
            assert_eq!(body(request), wanted);
        }
    }

    #[test]
    fn values_are_found_in_replies() {
        let cases: [(&str, &[&str]); 6] = [
            (r#"{"Messages":[{"ReceiptHandle":"a"},{"Body":"x","ReceiptHandle":"b"}]}"#, &["a", "b"]),
            (r#"{"Messages": [{"ReceiptHandle" : "a"}]}"#, &["a"]),
            (r#"{"AReceiptHandle":"no","ReceiptHandles":"no","ReceiptHandle":7}"#, &[]),
            ("<R><ReceiptHandle>a</ReceiptHandle><ReceiptHandle>b</ReceiptHandle></R>", &["a", "b"]),
            (r#"{"ReceiptHandle":"cut off"#, &[]),
            ("", &[]),
        ];
        for (reply, wanted) in cases {
            let found: Vec<_> = values(reply.as_bytes(), "ReceiptHandle").map(String::from_utf8_lossy).collect();
            assert_eq!(found, wanted, "{reply}");
        }
    }
}
