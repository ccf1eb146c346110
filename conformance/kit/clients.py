"""boto3 clients for both wire protocols of SQS, and short forms of what tests do most.

Today's boto3 speaks JSON. For Query it is given the API model of the last boto3 that spoke it, so that the same test
drives both protocols through a published SDK: serializer, parser, retries and all.
"""

from dataclasses import dataclass

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.loaders import Loader

from .server import TARGET

REGION = "us-east-1"
# Parameters go out as the test wrote them, and an error is seen the first time it is answered.
CONFIG = Config(parameter_validation=False, retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=50)


def client(endpoint, protocol="json", region=REGION, access_key="test", config=CONFIG):
    session = botocore.session.Session()
    if protocol == "query":
        models = TARGET / "old-sdk" / "botocore" / "data"
        if not models.exists():
            raise RuntimeError(f"{models} is missing: `cargo xtask test` installs it")
        session.register_component("data_loader", Loader(extra_search_paths=[str(models)]))
    made = boto3.session.Session(botocore_session=session).client(
        "sqs",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key="test",
        config=config,
    )
    assert made.meta.service_model.metadata["protocol"] == protocol
    made.protocol = protocol
    return made


@dataclass(frozen=True)
class Refusal:
    """An error as the SDK shows it."""

    code: str
    message: str
    status: int
    # The name in the JSON protocol; None in Query.
    name: str | None


def refused(call, **parameters):
    """Makes a call that must be answered with an error."""
    try:
        answer = call(**parameters)
    except ClientError as error:
        said = error.response["Error"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return Refusal(said["Code"], said.get("Message", ""), status, said.get("QueryErrorCode"))
    raise AssertionError(f"{call.__name__} was not refused: {answer}")


def receive(sqs, url, count=10, system=None, names=None, **parameters):
    """Receives up to `count` messages; `system` and `names` select system and message attributes."""
    if system is not None:
        # The model for Query is older than MessageSystemAttributeNames.
        parameters["MessageSystemAttributeNames" if sqs.protocol == "json" else "AttributeNames"] = system
    if names is not None:
        parameters["MessageAttributeNames"] = names
    return sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=count, **parameters).get("Messages", [])


def receive_one(sqs, url, **parameters):
    messages = receive(sqs, url, **parameters)
    assert len(messages) == 1, messages
    return messages[0]


def bodies(messages):
    return [message["Body"] for message in messages]


def send(sqs, url, *texts, **parameters):
    """Sends each text as one message; returns their ids."""
    return [sqs.send_message(QueueUrl=url, MessageBody=text, **parameters)["MessageId"] for text in texts]


def attributes(sqs, url, *names):
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names) or ["All"]).get("Attributes", {})


def counts(sqs, url):
    """How many messages are (visible, in flight, delayed)."""
    has = attributes(sqs, url)
    kinds = (
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
    )
    return tuple(int(has[kind]) for kind in kinds)


def text(value, label=""):
    """A message attribute of type String."""
    return {"DataType": "String" + label, "StringValue": value}


def number(value, label=""):
    return {"DataType": "Number" + label, "StringValue": value}


def binary(value, label=""):
    return {"DataType": "Binary" + label, "BinaryValue": value}
