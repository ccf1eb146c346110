"""The digest of message attributes, written from the SQS Developer Guide, apart from any SDK.

for each attribute, by name:   len(name) name  len(type) type  transport  len(value) value
lengths are four bytes, big end first; transport is 1 for text and numbers, 2 for bytes
"""

import hashlib
import struct


def md5(value):
    return hashlib.md5(value.encode() if isinstance(value, str) else value).hexdigest()


def md5_of_attributes(attributes):
    def part(value):
        return struct.pack(">I", len(value)) + value

    digest = hashlib.md5()
    for name in sorted(attributes):
        attribute = attributes[name]
        is_binary = attribute["DataType"].startswith("Binary")
        value = attribute["BinaryValue"] if is_binary else attribute["StringValue"].encode()
        digest.update(part(name.encode()) + part(attribute["DataType"].encode()))
        digest.update(bytes([2 if is_binary else 1]) + part(value))
    return digest.hexdigest()
