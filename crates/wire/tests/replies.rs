//! Every operation's reply, as both protocols write it.

mod common;

use api::sqs::*;
use common::*;
use serde::Serialize;

fn check<T: Serialize>(operation: &str, reply: &T, json: &str, xml: &str) {
    let answer = wire::reply(&json_call(operation, ""), reply, "request-1");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/x-amz-json-1.0");
    assert_eq!(answer.headers()["x-amzn-RequestId"], "request-1");
    assert_eq!(String::from_utf8_lossy(answer.body()), json, "{operation}");

    let answer = wire::reply(&query_call(operation, ""), reply, "request-1");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/xml");
    assert_eq!(answer.headers()["x-amzn-RequestId"], "request-1");
    let expected = format!(
        "<?xml version=\"1.0\"?><{operation}Response xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">{xml}\
         <ResponseMetadata><RequestId>request-1</RequestId></ResponseMetadata></{operation}Response>"
    );
    assert_eq!(String::from_utf8_lossy(answer.body()), expected, "{operation}");
    Xml::parse(answer.body());
}

#[test]
fn operations_that_only_say_yes() {
    for operation in [
        "DeleteQueue",
        "SetQueueAttributes",
        "PurgeQueue",
        "TagQueue",
        "UntagQueue",
        "DeleteMessage",
        "ChangeMessageVisibility",
    ] {
        check(operation, &Done {}, "", "");
    }
}

#[test]
fn replies_about_queues() {
    for operation in ["CreateQueue", "GetQueueUrl"] {
        check(
            operation,
            &queue_url_reply(),
            r#"{"QueueUrl":"http://localhost:4566/123456789012/q"}"#,
            &format!(
                "<{operation}Result><QueueUrl>http://localhost:4566/123456789012/q</QueueUrl></{operation}Result>"
            ),
        );
    }
    check(
        "ListQueues",
        &list_queues_reply(),
        r#"{"QueueUrls":["http://h/1/a","http://h/1/b"],"NextToken":"t"}"#,
        "<ListQueuesResult><QueueUrl>http://h/1/a</QueueUrl><QueueUrl>http://h/1/b</QueueUrl>\
         <NextToken>t</NextToken></ListQueuesResult>",
    );
    check("ListQueues", &ListQueuesReply::default(), "{}", "<ListQueuesResult></ListQueuesResult>");
    check(
        "GetQueueAttributes",
        &get_queue_attributes_reply(),
        r#"{"Attributes":{"DelaySeconds":"0","VisibilityTimeout":"30"}}"#,
        "<GetQueueAttributesResult><Attribute><Name>DelaySeconds</Name><Value>0</Value></Attribute>\
         <Attribute><Name>VisibilityTimeout</Name><Value>30</Value></Attribute></GetQueueAttributesResult>",
    );
    check(
        "ListQueueTags",
        &list_queue_tags_reply(),
        r#"{"Tags":{"team":"a & b"}}"#,
        "<ListQueueTagsResult><Tag><Key>team</Key><Value>a &amp; b</Value></Tag></ListQueueTagsResult>",
    );
}

#[test]
fn replies_about_messages() {
    check(
        "SendMessage",
        &send_message_reply(),
        r#"{"MD5OfMessageBody":"md5b","MD5OfMessageAttributes":"md5a","MD5OfMessageSystemAttributes":"md5s","MessageId":"id","SequenceNumber":"1"}"#,
        "<SendMessageResult><MD5OfMessageBody>md5b</MD5OfMessageBody>\
         <MD5OfMessageAttributes>md5a</MD5OfMessageAttributes>\
         <MD5OfMessageSystemAttributes>md5s</MD5OfMessageSystemAttributes><MessageId>id</MessageId>\
         <SequenceNumber>1</SequenceNumber></SendMessageResult>",
    );
    check(
        "SendMessageBatch",
        &send_message_batch_reply(),
        r#"{"Successful":[{"Id":"e1","MessageId":"id","MD5OfMessageBody":"md5b","MD5OfMessageAttributes":"md5a","MD5OfMessageSystemAttributes":"md5s","SequenceNumber":"1"}],"Failed":[{"Id":"e2","SenderFault":true,"Code":"InvalidParameterValue","Message":"No <b>."}]}"#,
        "<SendMessageBatchResult><SendMessageBatchResultEntry><Id>e1</Id><MessageId>id</MessageId>\
         <MD5OfMessageBody>md5b</MD5OfMessageBody><MD5OfMessageAttributes>md5a</MD5OfMessageAttributes>\
         <MD5OfMessageSystemAttributes>md5s</MD5OfMessageSystemAttributes><SequenceNumber>1</SequenceNumber>\
         </SendMessageBatchResultEntry><BatchResultErrorEntry><Id>e2</Id><SenderFault>true</SenderFault>\
         <Code>InvalidParameterValue</Code><Message>No &lt;b&gt;.</Message></BatchResultErrorEntry>\
         </SendMessageBatchResult>",
    );
    for operation in ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"] {
        check(
            operation,
            &batch_reply(),
            r#"{"Successful":[{"Id":"e1"}],"Failed":[{"Id":"e2","SenderFault":true,"Code":"InvalidParameterValue","Message":"No <b>."}]}"#,
            &format!(
                "<{operation}Result><{operation}ResultEntry><Id>e1</Id></{operation}ResultEntry>\
                 <BatchResultErrorEntry><Id>e2</Id><SenderFault>true</SenderFault><Code>InvalidParameterValue</Code>\
                 <Message>No &lt;b&gt;.</Message></BatchResultErrorEntry></{operation}Result>"
            ),
        );
    }
    check("ReceiveMessage", &ReceiveMessageReply::default(), "{}", "<ReceiveMessageResult></ReceiveMessageResult>");
    check(
        "ReceiveMessage",
        &receive_message_reply(),
        r#"{"Messages":[{"MessageId":"id","ReceiptHandle":"handle","MD5OfBody":"md5b","Body":"a\r\nb","Attributes":{"SenderId":"AIDA","SentTimestamp":"1700000000000"},"MD5OfMessageAttributes":"md5a","MessageAttributes":{"bin":{"BinaryValue":"AP8=","StringListValues":["s"],"BinaryListValues":["Yg=="],"DataType":"Binary"},"str":{"StringValue":"v","DataType":"String"}}}]}"#,
        "<ReceiveMessageResult><Message><MessageId>id</MessageId><ReceiptHandle>handle</ReceiptHandle>\
         <MD5OfBody>md5b</MD5OfBody><Body>a&#xD;&#xA;b</Body>\
         <Attribute><Name>SenderId</Name><Value>AIDA</Value></Attribute>\
         <Attribute><Name>SentTimestamp</Name><Value>1700000000000</Value></Attribute>\
         <MD5OfMessageAttributes>md5a</MD5OfMessageAttributes>\
         <MessageAttribute><Name>bin</Name><Value><BinaryValue>AP8=</BinaryValue><StringListValue>s</StringListValue>\
         <BinaryListValue>Yg==</BinaryListValue><DataType>Binary</DataType></Value></MessageAttribute>\
         <MessageAttribute><Name>str</Name><Value><StringValue>v</StringValue><DataType>String</DataType></Value>\
         </MessageAttribute></Message></ReceiveMessageResult>",
    );
}
