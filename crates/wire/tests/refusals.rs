//! What is no call, what is no request, and how errors are written.

mod common;

use api::sqs::*;
use api::{Error, ErrorKind, Operation};
use common::{Xml, call, json_call, query_call};
use http::Request;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use wire::WireProtocol::{AwsJson10, Query};
use wire::{WireProtocol, protocol};

fn check_rejected(request: http::request::Builder, body: &'static str, expected: (WireProtocol, ErrorKind, &str)) {
    let seen = call(request, body).map(|call| call.operation);
    let rejected = seen.expect_err(body);
    assert_eq!((rejected.protocol, rejected.error.kind, &*rejected.error.message), expected, "{body}");
}

#[test]
fn json_that_names_no_operation() {
    let unknown = |message| (AwsJson10, ErrorKind::UnknownOperation, message);
    let target = |target: &str| Request::post("/").header("x-amz-target", target);
    check_rejected(target("AmazonSQS.Nope"), "{}", unknown("The operation AmazonSQS.Nope does not exist."));
    check_rejected(target("AmazonSQS."), "{}", unknown("The operation AmazonSQS. does not exist."));
    check_rejected(target("sendmessage"), "{}", unknown("The operation sendmessage does not exist."));
    check_rejected(
        Request::put("/").header("x-amz-target", "AmazonSQS.SendMessage"),
        "{}",
        unknown("A JSON request is a POST; this one is a PUT."),
    );
    for content_type in ["application/x-amz-json-1.0", "application/x-amz-json-1.1; charset=utf-8", "Application/JSON"]
    {
        check_rejected(
            Request::post("/").header("content-type", content_type),
            "Action=ListQueues",
            unknown("The request has no X-Amz-Target header to say which operation it wants: AmazonSQS.SendMessage"),
        );
    }
}

#[test]
fn forms_that_name_no_operation() {
    let missing =
        (Query, ErrorKind::MissingAction, "The request must contain the parameter Action: Action=SendMessage");
    for (path, body) in [("/", ""), ("/", "Action="), ("/", "action=SendMessage"), ("/123456789012/q", "Version=x")] {
        check_rejected(Request::post(path), body, missing);
    }
    check_rejected(Request::get("/"), "", missing);

    let invalid = |message| (Query, ErrorKind::InvalidAction, message);
    check_rejected(Request::post("/"), "Action=Nope", invalid("The action Nope is not valid for this endpoint."));
    check_rejected(Request::get("/?Action=Nope"), "", invalid("The action Nope is not valid for this endpoint."));
    check_rejected(
        Request::get("/123456789012/q?Action=ListQueues"),
        "",
        invalid("The action ListQueues is not valid for this endpoint."),
    );
    check_rejected(
        Request::post("/123456789012/q"),
        "Action=CreateQueue&QueueName=p",
        invalid("The action CreateQueue is not valid for this endpoint."),
    );
    check_rejected(Request::delete("/"), "Action=ListQueues", invalid("The HTTP method DELETE is not served here."));

    check_rejected(
        Request::post("/"),
        "Action=ListQueues&Version=2009-02-01",
        (
            Query,
            ErrorKind::InvalidParameterValue,
            "Value 2009-02-01 for parameter Version is invalid. Reason: The version of this API is 2012-11-05.",
        ),
    );
    check_rejected(
        Request::post("/"),
        "Action=%4",
        (
            Query,
            ErrorKind::Serialization,
            "The value of parameter Action has a percent sign that doesn't begin an escape such as %25.",
        ),
    );
}

#[test]
fn operations_are_found_wherever_they_are_named() {
    let operation = |request, body: &'static str| call(request, body).map(|call| (call.protocol, call.operation));
    let list = |protocol| Ok((protocol, "ListQueues".to_owned()));
    assert_eq!(operation(Request::get("/?Action=ListQueues&Version=2012-11-05"), ""), list(Query));
    assert_eq!(operation(Request::post("/?Action=ListQueues"), "QueueNamePrefix=a"), list(Query));
    assert_eq!(operation(Request::post("/"), "Action=ListQueues&Action=Nope"), list(Query));
    assert_eq!(operation(Request::post("/").header("x-amz-target", "AmazonSQS.ListQueues"), "{}"), list(AwsJson10));
    let at_a_prefix = Request::post("/sqs/").header("content-type", "text/plain");
    assert_eq!(operation(at_a_prefix, "Action=ListQueues"), list(Query));
    // Known to AWS, if not to us: whoever dispatches says so.
    assert!(operation(Request::post("/"), "Action=AddPermission").is_ok());
}

#[test]
fn the_address_of_a_queue_is_its_url() {
    let url = |path: &str, body: &str| {
        let call = call(Request::post(path), body.to_owned()).expect("a call");
        call.decode::<SendMessage>().expect("a request").queue_url
    };
    let form = "Action=SendMessage";
    assert_eq!(url("/123456789012/q", form).as_deref(), Some("/123456789012/q"));
    assert_eq!(url("/queue/eu-west-1/123456789012/q", form).as_deref(), Some("/queue/eu-west-1/123456789012/q"));
    assert_eq!(url("/123456789012/q", "Action=SendMessage&QueueUrl=other").as_deref(), Some("other"));
    assert_eq!(url("/123456789012/q?QueueUrl=other", form).as_deref(), Some("other"));
    assert_eq!(url("/", form), None);
    // No queue, and the operation says so.
    assert_eq!(url("/12/q", form).as_deref(), Some("/12/q"));
}

fn check_malformed<T: DeserializeOwned + Debug + PartialEq>(call: wire::Call, message: &str) {
    let expected = Err(Error::new(ErrorKind::Serialization, message));
    assert_eq!(call.decode::<T>(), expected);
}

#[test]
fn bodies_that_are_not_the_json_they_should_be() {
    for (body, reason) in [
        ("not json", "expected ident at line 1 column 2"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("[]", "invalid type: sequence, expected struct SendMessage at line 1 column 0"),
        (
            r#"["http://h/123456789012/q","a"]"#,
            "invalid type: sequence, expected struct SendMessage at line 1 column 0",
        ),
        (
            r#"{"MessageAttributes":{"k":["v"]}}"#,
            "invalid type: sequence, expected struct MessageAttributeValue at line 1 column 26",
        ),
        (r#"{"QueueUrl":5}"#, "invalid type: integer `5`, expected a string at line 1 column 13"),
        (r#"{"DelaySeconds":"5"}"#, "invalid type: string \"5\", expected i64 at line 1 column 19"),
        (r#"{"DelaySeconds":1.5}"#, "invalid type: floating point `1.5`, expected i64 at line 1 column 19"),
        (r#"{"MessageBody":"\ud800"}"#, "unexpected end of hex escape at line 1 column 23"),
        ("{} {}", "trailing characters at line 1 column 4"),
        (r#"{"QueueUrl":"a","QueueUrl":"b"}"#, "duplicate field `QueueUrl` at line 1 column 26"),
        (
            r#"{"MessageAttributes":{"k":{"BinaryValue":"*"}}}"#,
            "a binary value is not valid base64 at line 1 column 44",
        ),
    ] {
        let message = format!("The request body is not the JSON that this operation takes: {reason}");
        check_malformed::<SendMessage>(json_call("SendMessage", body), &message);
    }
    let deep = "[".repeat(1_000_000);
    let unknown = format!("{{\"Unknown\":{deep}}}");
    assert!(json_call("SendMessage", unknown).decode::<SendMessage>().is_err(), "depth is bounded");
    assert!(json_call("SendMessage", &b"{\"MessageBody\":\"\xff\"}"[..]).decode::<SendMessage>().is_err(), "UTF-8");
}

/// At each place, of all values that JSON has, only those of the type that AWS gives it are read. None is converted, be
/// it a number to a string or a float to an integer, and a structure is never a list of its members.
#[test]
fn values_of_another_type_than_their_place_has() {
    const VALUES: &[&str] =
        &["null", "true", "5", "-5.0", "1.0", "1e2", r#""1000""#, "[]", r#"["1000"]"#, "[[]]", "{}", r#"{"k":"1000"}"#];

    /// `place` is a body with `$` where the value goes.
    fn check<T: Operation + DeserializeOwned + Debug>(place: &str, readable: &[&str]) {
        for &value in VALUES {
            let body = place.replace('$', value);
            let refusal = json_call(T::NAME, body.clone()).decode::<T>().err().map(|error| error.kind);
            let expected = (!readable.contains(&value)).then_some(ErrorKind::Serialization);
            assert_eq!(refusal, expected, "{body}");
        }
    }

    let string = &["null", r#""1000""#];
    let string_in_a_list_or_map = &[r#""1000""#];
    let integer = &["null", "5"];
    let strings = &["null", "[]", r#"["1000"]"#];
    let structures = &["null", "[]"];
    let structure = &["{}", r#"{"k":"1000"}"#];
    let map_of_strings = &["null", "{}", r#"{"k":"1000"}"#];
    let map_of_structures = &["null", "{}"];

    check::<SendMessage>("$", structure);
    check::<SendMessage>(r#"{"Unknown":$}"#, VALUES);
    check::<SendMessage>(r#"{"MessageBody":$}"#, string);
    check::<SendMessage>(r#"{"DelaySeconds":$}"#, integer);
    check::<SendMessage>(r#"{"MessageAttributes":$}"#, map_of_structures);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":$}}"#, structure);
    check::<SendMessage>(r#"{"MessageSystemAttributes":{"k":$}}"#, structure);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":{"StringValue":$}}}"#, string);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":{"BinaryValue":$}}}"#, string);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":{"StringListValues":$}}}"#, strings);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":{"StringListValues":[$]}}}"#, string_in_a_list_or_map);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":{"BinaryListValues":$}}}"#, strings);
    check::<SendMessage>(r#"{"MessageAttributes":{"k":{"BinaryListValues":[$]}}}"#, string_in_a_list_or_map);
    check::<SendMessageBatch>("$", structure);
    check::<SendMessageBatch>(r#"{"Entries":$}"#, structures);
    check::<SendMessageBatch>(r#"{"Entries":[$]}"#, structure);
    check::<SendMessageBatch>(r#"{"Entries":[{},$]}"#, structure);
    check::<SendMessageBatch>(r#"{"Entries":[{"DelaySeconds":$}]}"#, integer);
    check::<SendMessageBatch>(r#"{"Entries":[{"MessageAttributes":{"k":$}}]}"#, structure);
    check::<ReceiveMessage>(r#"{"AttributeNames":$}"#, strings);
    check::<ReceiveMessage>(r#"{"AttributeNames":["All",$]}"#, string_in_a_list_or_map);
    check::<DeleteMessageBatch>(r#"{"Entries":[$]}"#, structure);
    check::<ChangeMessageVisibilityBatch>(r#"{"Entries":[$]}"#, structure);
    check::<CreateQueue>(r#"{"Attributes":$}"#, map_of_strings);
    check::<CreateQueue>(r#"{"Attributes":{"k":$}}"#, string_in_a_list_or_map);
    check::<TagQueue>(r#"{"Tags":{"k":$}}"#, string_in_a_list_or_map);
    check::<ListQueues>("$", structure);
}

#[test]
fn parameters_that_are_not_what_they_should_be() {
    for (form, message) in [
        ("DelaySeconds=five", "The value of parameter DelaySeconds is wrong: it must be an integer."),
        ("DelaySeconds=", "The value of parameter DelaySeconds is wrong: it must be an integer."),
        ("MessageBody.1=a", "The parameter MessageBody.1 is more than was expected."),
        ("MessageAttribute.1.Value.StringValue=a", "A name is without its value, or a value without its name."),
        (
            "MessageAttribute.1.Name=k&MessageAttribute.1.Value.BinaryValue=*",
            "The value of parameter MessageAttribute.1.Value.BinaryValue is wrong: a binary value is not valid base64",
        ),
        (
            "MessageBody=%",
            "The value of parameter MessageBody has a percent sign that doesn't begin an escape such as %25.",
        ),
        ("MessageBody=%FF", "The value of parameter MessageBody is not valid UTF-8."),
    ] {
        check_malformed::<SendMessage>(query_call("SendMessage", form), message);
    }
    check_malformed::<SetQueueAttributes>(
        query_call("SetQueueAttributes", "Attribute.1.Name=k"),
        "A name is without its value, or a value without its name.",
    );
}

/// Nothing is ever allocated by the number that a client writes, and nothing takes longer than its length warrants.
#[test]
fn requests_that_are_all_bulk() {
    let attributes = |count: usize| {
        let attributes: Vec<_> = (0..count).map(|n| format!(r#""a{n}":{{}}"#)).collect();
        let request = format!(r#"{{"MessageAttributes":{{{}}}}}"#, attributes.join(","));
        let request = json_call("SendMessage", request).decode::<SendMessage>();
        request.map(|request| request.message_attributes.map(|attributes| attributes.len()))
    };
    let too_many = Error::new(
        ErrorKind::InvalidParameterValue,
        "One or more parameters are invalid. Reason: The request has more than 10000 members.",
    );
    assert_eq!(attributes(10_000), Ok(Some(10_000)));
    assert_eq!(attributes(10_001), Err(too_many.clone()));
    assert_eq!(attributes(200_000), Err(too_many.clone()));
    let entries = format!(r#"{{"Entries":[{}]}}"#, vec!["{}"; 2_000_000].join(","));
    assert_eq!(json_call("SendMessageBatch", entries).decode::<SendMessageBatch>(), Err(too_many.clone()));
    // Commas in a message are no members, whatever is quoted there.
    let body = r#"a,\\\",b"#.repeat(10_000);
    let request = json_call("SendMessage", format!(r#"{{"MessageBody":"{body}"}}"#)).decode::<SendMessage>();
    assert_eq!(request.map(|request| request.message_body.map(|body| body.len())), Ok(Some(60_000)));

    let names: Vec<_> = (0..200_000).map(|n| format!("MessageAttribute.{n}.Name=a")).collect();
    assert_eq!(query_call("SendMessage", &names.join("&")).decode::<SendMessage>(), Err(too_many));
    let long_names: Vec<_> = (0..9_000).map(|n| format!("{}{n}=v", "a.".repeat(400))).collect();
    assert_eq!(query_call("SendMessage", &long_names.join("&")).decode(), Ok(SendMessage::default()));
    let huge = "SendMessageBatchRequestEntry.18446744073709551616.Id=a&SendMessageBatchRequestEntry.4000000000.Id=b";
    let entries = query_call("SendMessageBatch", huge).decode::<SendMessageBatch>().expect(huge).entries;
    let ids: Vec<_> = entries.iter().flatten().filter_map(|entry| entry.id.as_deref()).collect();
    assert_eq!(ids, ["b", "a"]);
}

#[test]
fn errors_in_json() {
    for (kind, status, body, query_error) in [
        (
            ErrorKind::QueueDoesNotExist,
            400,
            r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}"#,
            "AWS.SimpleQueueService.NonExistentQueue;Sender",
        ),
        (
            ErrorKind::InvalidParameterValue,
            400,
            r#"{"__type":"com.amazon.coral.service#InvalidParameterValueException","message":"The specified queue does not exist."}"#,
            "InvalidParameterValue;Sender",
        ),
        (
            ErrorKind::AccessDenied,
            403,
            r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"The specified queue does not exist."}"#,
            "AccessDenied;Sender",
        ),
        (
            ErrorKind::InternalFailure,
            500,
            r#"{"__type":"com.amazon.coral.service#InternalFailure","message":"The specified queue does not exist."}"#,
            "InternalFailure;Receiver",
        ),
    ] {
        let answer = wire::error(AwsJson10, &Error::new(kind, "The specified queue does not exist."), "r");
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["content-type"], "application/x-amz-json-1.0");
        assert_eq!(answer.headers()["x-amzn-requestid"], "r");
        assert_eq!(answer.headers()["x-amzn-query-error"], query_error);
        assert_eq!(String::from_utf8_lossy(answer.body()), body);
    }
}

#[test]
fn errors_in_xml() {
    for (kind, status, fault, code, message) in [
        (
            ErrorKind::QueueDoesNotExist,
            400,
            "Sender",
            "AWS.SimpleQueueService.NonExistentQueue",
            "The specified queue does not exist for this wsdl version.",
        ),
        (ErrorKind::OverLimit, 403, "Sender", "OverLimit", "The specified queue does not exist."),
        (ErrorKind::InternalFailure, 500, "Receiver", "InternalFailure", "The specified queue does not exist."),
    ] {
        let answer = wire::error(Query, &Error::new(kind, "The specified queue does not exist."), "r");
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["content-type"], "text/xml");
        let expected = format!(
            "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error>\
             <Type>{fault}</Type><Code>{code}</Code><Message>{message}</Message><Detail/></Error>\
             <RequestId>r</RequestId></ErrorResponse>"
        );
        assert_eq!(String::from_utf8_lossy(answer.body()), expected);
    }
    // An error may quote what no document can hold.
    let answer = wire::error(Query, &Error::new(ErrorKind::InvalidMessageContents, "\0 \u{1b} \u{ffff} \r"), "r");
    let document = Xml::parse(answer.body());
    assert_eq!(document.text_at(&["Error", "Message"]), Some("\u{fffd} \u{fffd} \u{fffd} \r"));
}

/// Every error has headers that HTTP can carry, and parses.
#[test]
fn every_kind_of_error_can_be_written() {
    for &kind in ErrorKind::ALL {
        for wire_protocol in [AwsJson10, Query] {
            let answer = wire::error(wire_protocol, &Error::new(kind, "m"), "r");
            assert_eq!(answer.status(), kind.status());
        }
    }
}

#[test]
fn the_protocol_is_known_before_the_body() {
    let check = |request: http::request::Builder, expected| {
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        assert_eq!(protocol(&parts), expected);
    };
    check(Request::post("/").header("content-type", "application/x-amz-json-1.0"), AwsJson10);
    check(Request::get("/").header("x-amz-target", "?"), AwsJson10);
    check(Request::post("/").header("content-type", "application/x-www-form-urlencoded"), Query);
    check(Request::get("/"), Query);
}
