"""Compares the members that we read and answer with the API model of botocore.

    cargo run --release -p wire --example members > members.json
    python conformance/model_check.py members.json

Every member of every operation that is built must be read or answered, none may be misspelled, and each must have the
type that the model gives it. Operations that are not built are listed. Exits with 1 if anything differs.
"""

import gzip
import json
import pathlib
import sys

import botocore

# What a type of the model is in JSON.
JSON_TYPES = {
    "string": "string",
    "blob": "string",
    "integer": "integer",
    "long": "integer",
    "boolean": "boolean",
}


def main(members_path):
    model_path = pathlib.Path(botocore.__file__).parent / "data/sqs/2012-11-05/service-2.json.gz"
    model = json.loads(gzip.decompress(model_path.read_bytes()))
    ours = json.loads(pathlib.Path(members_path).read_text())

    differences = list(compare_operations(model, ours)) + list(compare_errors(model, ours))
    for difference in differences:
        print(f"differs: {difference}")
    missing_errors = sorted(set(errors_of(model, ours["built"])) - set(ours["errors"]))
    print(f"botocore {botocore.__version__}: {len(ours['built'])} operations compared, {len(differences)} differences")
    print(f"not built: {', '.join(ours['not_built'])}")
    print(f"errors of built operations that we never give: {', '.join(missing_errors)}")
    return 1 if differences else 0


def compare_operations(model, ours):
    known, claimed = set(model["operations"]), set(ours["built"]) | set(ours["not_built"])
    yield from (f"{name} is neither built nor listed as not built" for name in sorted(known - claimed))
    yield from (f"{name} is no operation of the model" for name in sorted(claimed - known))
    yield from (f"{name} is both built and not built" for name in sorted(set(ours["built"]) & set(ours["not_built"])))
    if set(ours["built"]) != set(ours["operations"]):
        yield "the members listed are not those of the operations built"

    for name in sorted(set(ours["operations"]) & known):
        operation, members = model["operations"][name], ours["operations"][name]
        for side, ours_side in (("input", members["request"]), ("output", members["reply"])):
            shape = operation.get(side, {}).get("shape")
            if shape:
                yield from compare(model, shape, ours_side, f"{name} {side}")
            elif ours_side:
                yield f"{name} has no {side} in the model"


def compare(model, shape_name, ours, path):
    """Walks a shape of the model and what we make of it side by side."""
    shape = model["shapes"][shape_name]
    kind = shape["type"]
    if kind == "structure":
        if not isinstance(ours, dict):
            yield f"{path} is not a structure"
            return
        spelled = {name.lower() for name in shape["members"]}
        # Another capitalization of a member is another way to write it, beside the right one.
        yield from (f"{path}.{name} is not in the model" for name in ours if name.lower() not in spelled)
        for name, member in shape["members"].items():
            if name in ours:
                yield from compare(model, member["shape"], ours[name], f"{path}.{name}")
            else:
                yield f"{path}.{name} is missing"
    elif kind == "list":
        if not isinstance(ours, list) or not ours:
            yield f"{path} is not a list"
            return
        for item in ours:
            yield from compare(model, shape["member"]["shape"], item, f"{path}[]")
    elif kind == "map":
        if not isinstance(ours, dict) or not ours:
            yield f"{path} is not a map"
            return
        # One entry may leave out what another has, such as a string value where there is a binary one.
        entries = list(ours.values())
        merged = {k: v for entry in entries for k, v in entry.items()} if isinstance(entries[0], dict) else entries[0]
        yield from compare(model, shape["value"]["shape"], merged, f"{path}{{}}")
    else:
        expected, seen = JSON_TYPES.get(kind, kind), json_type(ours)
        if expected != seen:
            yield f"{path} is {seen} and should be {expected}"


def json_type(value):
    """The type of a value of a reply; in a request its name stands for it."""
    if value in ("integer", "boolean"):
        return value
    return {bool: "boolean", int: "integer", str: "string"}.get(type(value), type(value).__name__)


def compare_errors(model, ours):
    for name, error in sorted(ours["errors"].items()):
        modelled = model["shapes"].get(name, {}).get("error")
        if modelled is None:
            continue
        if modelled.get("code", name) != error["code"]:
            yield f"error {name} has the code {error['code']} and should have {modelled.get('code', name)}"
        if modelled.get("httpStatusCode", 400) != error["status"]:
            yield f"error {name} has status {error['status']} and should have {modelled.get('httpStatusCode', 400)}"


def errors_of(model, operations):
    for name in operations:
        yield from (error["shape"] for error in model["operations"].get(name, {}).get("errors", []))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
