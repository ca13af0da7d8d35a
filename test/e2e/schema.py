#!/usr/bin/env python3
"""Validates JSON files against a schema, without jsonschema.

schema.py SCHEMA FILE...   exit 1 and the first problem when a file does not fit

Knows the keywords that share/schema uses; an unknown one is an error, so that no
part of a schema goes unchecked.
"""
import json
import os
import re
import sys

TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
SILENT = {"$schema", "title", "description", "contentEncoding", "$defs", "then", "else"}
documents = {}


class Misfit(Exception):
    pass


def load(path):
    if path not in documents:
        with open(path) as file:
            documents[path] = json.load(file)
    return documents[path]


def resolve(ref, path):
    name, _, pointer = ref.partition("#")
    path = os.path.join(os.path.dirname(path), name) if name else path
    schema = load(path)
    for key in pointer.split("/")[1:]:
        schema = schema[key]
    return schema, path


def fits(value, schema, path, at):
    try:
        check(value, schema, path, at)
        return True
    except Misfit:
        return False


def require(condition, at, what):
    if not condition:
        raise Misfit(f"{at or '/'}: {what}")


def check(value, schema, path, at):
    for key, wanted in schema.items():
        if key == "$ref":
            check(value, *resolve(wanted, path), at)
        elif key == "type":
            kinds = wanted if isinstance(wanted, list) else [wanted]
            require(any(TYPES[kind](value) for kind in kinds), at, f"no {' or '.join(kinds)}")
        elif key == "const":
            require(value == wanted, at, f"not {wanted}")
        elif key == "enum":
            require(value in wanted, at, f"none of {wanted}")
        elif key == "pattern":
            require(not isinstance(value, str) or re.search(wanted, value), at, f"does not fit {wanted}")
        elif key == "minLength":
            require(not isinstance(value, str) or len(value) >= wanted, at, "too short")
        elif key == "minimum":
            require(not TYPES["number"](value) or value >= wanted, at, f"less than {wanted}")
        elif key == "exclusiveMinimum":
            require(not TYPES["number"](value) or value > wanted, at, f"not more than {wanted}")
        elif key == "maximum":
            require(not TYPES["number"](value) or value <= wanted, at, f"more than {wanted}")
        elif key == "minProperties":
            require(not isinstance(value, dict) or len(value) >= wanted, at, "too few members")
        elif key in ("minItems", "maxItems"):
            count = len(value) if isinstance(value, list) else wanted
            require(count >= wanted if key == "minItems" else count <= wanted, at, f"{count} items")
        elif key == "items":
            for i, item in enumerate(value if isinstance(value, list) else []):
                check(item, wanted, path, f"{at}/{i}")
        elif key == "required":
            for name in wanted if isinstance(value, dict) else []:
                require(name in value, at, f"'{name}' is missing")
        elif key == "properties":
            for name, part in wanted.items():
                if isinstance(value, dict) and name in value:
                    check(value[name], part, path, f"{at}/{name}")
        elif key == "additionalProperties":
            for name in value if isinstance(value, dict) else []:
                if name not in schema.get("properties", {}):
                    require(wanted is not False, at, f"unknown member '{name}'")
                    check(value[name], wanted, path, f"{at}/{name}")
        elif key == "allOf":
            for part in wanted:
                check(value, part, path, at)
        elif key in ("anyOf", "oneOf"):
            count = sum(fits(value, part, path, at) for part in wanted)
            require(count == 1 if key == "oneOf" else count >= 1, at, f"fits {count} of {key}")
        elif key == "if":
            branch = "then" if fits(value, wanted, path, at) else "else"
            check(value, schema.get(branch, {}), path, at)
        else:
            require(key in SILENT, path, f"schema.py does not know '{key}'")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        with open(name) as file:
            document = json.load(file)
        try:
            check(document, load(sys.argv[1]), sys.argv[1], "")
        except Misfit as misfit:
            sys.exit(f"{name}: {misfit}")
