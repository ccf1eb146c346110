use aws_sdk_sqs as _;
#[test] fn x(){}
