#!/usr/bin/env python3
"""Checks answers against data/schema/VERB.json, with the standard library alone.

  check_schema.py SCHEMAS ANSWERS [--unseen LIST]

SCHEMAS is the folder of schemas; ANSWERS has lines {"verb": .., "command": .., "answer": ..}. Of each
answer that does not fit the first mismatch is named by its path. A schema that uses a word that this
program does not know, or names a field without a description, is wrong too.

With --unseen every field that a schema names must have been seen in some answer, but for those that
LIST names, a line each: the begin of the field's name, "#" and the reason. A definition that several
files have alike counts as one.
"""
import json
import os
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "oneOf", "$ref", "minimum", "maximum",
         "title", "description", "$schema", "$defs"}


def is_of(value, kind):
    if kind in ("number", "integer"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (kind == "number" or value == int(value))
    return isinstance(value, TYPES[kind])


class Schema:
    """One file: checks answers, and keeps which of its fields they had."""

    def __init__(self, name, root):
        self.name, self.root = name, root
        self.fields = {}  # id of a field's schema -> (its name, how its definition reads)
        self.seen = set()
        self.wrong = []
        for definition, schema in root.get("$defs", {}).items():
            self.list_fields(schema, f"$defs.{definition}", json.dumps(schema, sort_keys=True))
        self.list_fields({word: root[word] for word in root if word != "$defs"}, name, "")

    def list_fields(self, schema, at, definition):
        for word in schema.keys() - WORDS:
            self.wrong.append(f"{self.name}: {at}: the schema's '{word}' is not known")
        if "$ref" in schema and self.target(schema) is None:
            self.wrong.append(f"{self.name}: {at}: there is no {schema['$ref']}")
        for field in set(schema.get("required", [])) - set(schema.get("properties", {})):
            self.wrong.append(f"{self.name}: {at}: '{field}' is required and not described")
        for field, own in schema.get("properties", {}).items():
            name = f"{at}.{field}"
            if not own.get("description"):
                self.wrong.append(f"{self.name}: {name}: no description")
            self.fields[id(own)] = (name, definition)
            self.list_fields(own, name, definition)
        for word, end in (("items", "[]"), ("additionalProperties", ".*")):
            if isinstance(schema.get(word), dict):
                self.list_fields(schema[word], at + end, definition)
        for own in schema.get("oneOf", []):
            self.list_fields(own, f"{at}({own['title']})" if "title" in own else at, definition)

    def target(self, schema):
        return self.root.get("$defs", {}).get(schema["$ref"].removeprefix("#/$defs/"))

    def check(self, value, schema, path, seen):
        """None, or the first mismatch as (path, what)."""
        if "$ref" in schema:
            return self.check(value, self.target(schema), path, seen)
        if "oneOf" in schema:
            return self.check_one_of(value, schema["oneOf"], path, seen)
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(is_of(value, kind) for kind in kinds):
            return path, f"{shown(value)} is no {' or '.join(kinds)}"
        if "enum" in schema and value not in schema["enum"]:
            return path, f"{shown(value)} is none of {', '.join(map(str, schema['enum']))}"
        if is_of(value, "number"):
            if value < schema.get("minimum", value):
                return path, f"{shown(value)} is below {schema['minimum']}"
            if value > schema.get("maximum", value):
                return path, f"{shown(value)} is above {schema['maximum']}"
        if isinstance(value, dict):
            return self.check_object(value, schema, path, seen)
        for i, item in enumerate(value if isinstance(value, list) else []):
            if wrong := self.check(item, schema.get("items", {}), f"{path}[{i}]", seen):
                return wrong
        return None

    def check_object(self, value, schema, path, seen):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name in schema.get("required", []):
            if name not in value:
                return joined(path, name), "is missing"
        for name, own in value.items():
            if name in fields:
                seen.add(id(fields[name]))
            elif others is False:
                return joined(path, name), "is not in the schema"
            if wrong := self.check(own, fields.get(name, others), joined(path, name), seen):
                return wrong
        return None

    def check_one_of(self, value, kinds, path, seen):
        fit, nearest = [], None
        for kind in kinds:
            own = set()
            wrong = self.check(value, kind, path, own)
            if wrong is None:
                fit.append(own)
            elif nearest is None or self.likeness(value, kind) > self.likeness(value, nearest[0]):
                nearest = kind, wrong
        if len(fit) > 1:
            return path, f"fits {len(fit)} kinds of answers, not one"
        if fit:
            seen |= fit[0]
            return None
        return nearest[1]

    def likeness(self, value, schema):
        """How many of an object's fields a kind knows, less those that it wants and does not have."""
        if "$ref" in schema:
            return self.likeness(value, self.target(schema))
        if not isinstance(value, dict) or schema.get("type") != "object":
            return -1000 if isinstance(value, dict) or schema.get("type") == "null" else 0
        return len(value.keys() & schema["properties"].keys()) - len(set(schema.get("required", [])) - value.keys())

    def first_mismatch(self, answer):
        seen = set()
        wrong = self.check(answer, self.root, "", seen)
        if wrong is None:
            self.seen |= seen
        return wrong


def joined(path, name):
    return f"{path}.{name}" if path else name


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def no_number(text):
    raise ValueError(f"{text} is no JSON")


def unseen_fields(schemas, listed):
    """What no answer had and `listed` does not name; and what it names for nothing."""
    seen = {schema.fields[field] for schema in schemas.values() for field in schema.seen if field in schema.fields}
    missing = sorted({field for schema in schemas.values() for field in schema.fields.values()} - seen)
    wrong, used = [], set()
    for name, _ in missing:
        begins = [entry for entry in listed if name == entry or name.startswith((entry + ".", entry + "[", entry + "("))]
        used.update(begins)
        if not begins:
            wrong.append(f"{name}: in no answer")
    wrong += [f"{entry}: listed as never seen, but all of it was" for entry in listed if entry not in used]
    return wrong


def main(arguments):
    if len(arguments) not in (2, 4) or (len(arguments) == 4 and arguments[2] != "--unseen"):
        print(__doc__, file=sys.stderr)
        return 2
    schemas = {}
    for file in sorted(os.listdir(arguments[0])):
        with open(os.path.join(arguments[0], file), encoding="utf-8") as text:
            schemas[file.removesuffix(".json")] = Schema(file.removesuffix(".json"), json.load(text))
    wrong = [line for schema in schemas.values() for line in schema.wrong]
    count = 0
    with open(arguments[1], encoding="utf-8") as lines:
        for line in lines if not wrong else []:
            one = json.loads(line, parse_constant=no_number)
            count += 1
            if one["verb"] not in schemas:
                wrong.append(f"{one['verb']}: there is no schema")
            elif mismatch := schemas[one["verb"]].first_mismatch(one["answer"]):
                wrong.append(f"{one['verb']}: {': '.join(mismatch)}\n  nereus {one['command']}")
    if len(arguments) == 4 and not wrong:
        with open(arguments[3], encoding="utf-8") as lines:
            listed = [line.partition("#")[0].strip() for line in lines]
        wrong += unseen_fields(schemas, [entry for entry in listed if entry])
    print(*wrong, f"schemas: {count} answers, {len(wrong)} wrong", sep="\n")
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
