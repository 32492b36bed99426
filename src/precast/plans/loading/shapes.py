"""Shapes of values: each reads a value and describes it for editors, so that the loader and the JSON schema agree.

`read` returns None after it has reported an error. A value with only one possible meaning is accepted: a number where a text is meant is
its text as it is written, and a list of one may be written without brackets.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from precast.net.model.durations import parse_duration
from precast.plans import issues
from precast.plans.loading.fields import Field, read_expression

MAX_TEXT = 4_096
MAX_NAMES = 5_000
DAY_S = 86_400.0

_MODE = re.compile("[0-7]{3,4}")
EXPRESSION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "An expression in YAQL over the data of the node.",
    "properties": {"yaql_exp": {"type": "string"}},
    "required": ["yaql_exp"],
    "additionalProperties": False,
}
TEXT_SCHEMA: dict[str, Any] = {"type": ["string", "number", "boolean"]}


class Shape(NamedTuple):
    """How a value is read, and its JSON schema."""

    read: Callable[[Field], Any]
    schema: dict[str, Any]


def text(wanted: str = "a text", most: int = MAX_TEXT, *, may_be_empty: bool = False) -> Shape:
    def read(field: Field) -> str | None:
        if not field.node.is_text or not (field.node.text or may_be_empty):
            field.refuse(wanted)
            return None
        if len(field.node.text) > most:
            field.refuse(f"a text of at most {most} characters")
            return None
        return field.node.text

    return Shape(read, {**TEXT_SCHEMA, "maxLength": most, **({} if may_be_empty else {"minLength": 1})})


def words(wanted: str = "a list of texts", most: int = MAX_NAMES) -> Shape:
    """A list of different texts, or one of them."""
    return Shape(lambda field: read_words(field, wanted, most), one_or_more(TEXT_SCHEMA))


def read_words(field: Field, wanted: str, most: int = MAX_NAMES) -> tuple[str, ...]:
    """The texts of a list, each once; what cannot be read is reported and left out."""
    if field.node.entries is not None:
        field.refuse(wanted)
        return ()
    if len(items := field.items()) > most:
        field.refuse(f"at most {most} of them")
    return tuple(unique_texts(items))


def unique_texts(items: Sequence[Field]) -> dict[str, Field]:
    """The fields by their texts; one that is not a text is reported, and one that repeats another is warned of."""
    found: dict[str, Field] = {}
    shape = text("a name")
    for item in items:
        word = shape.read(item)
        if word in found:
            item.warn(issues.GIVEN_TWICE, what=f"{word} ({item.label})", counts="it counts once")
        elif word is not None:
            found[word] = item
    return found


def selectors() -> Shape:
    """A list of roles or tags, or one of them; expressions between slashes are checked."""

    def read(field: Field) -> tuple[str, ...]:
        found = read_words(field, "a role, or a list of roles")
        for word in found:
            field.problems.check_pattern(word, field.at)
        return found

    return Shape(read, one_or_more(TEXT_SCHEMA))


def flag() -> Shape:
    def read(field: Field) -> bool | None:
        if isinstance(value := field.node.value, bool):
            return value
        field.refuse("true or false")
        return None

    return Shape(read, {"type": "boolean"})


def number(least: int, most: int) -> Shape:
    def read(field: Field) -> int | None:
        value = field.node.value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            field.refuse(f"a whole number from {least} to {most}")
            return None
        return value

    return Shape(read, {"type": "integer", "minimum": least, "maximum": most})


def duration(most_s: float = DAY_S, *, may_be_zero: bool = False) -> Shape:
    """Seconds, as a number or with units: `90`, `90s`, `10m`, `1h30m`."""

    def read(field: Field) -> float | None:
        value = field.node.value
        if isinstance(value, str):
            duration_ms = parse_duration(value if not value.isdecimal() else f"{value}s")
            value = None if duration_ms is None else duration_ms / 1000
        if isinstance(value, bool) or not isinstance(value, int | float):
            field.refuse("a duration", "write seconds, or a text such as '90s', '10m' or '2h'")
            return None
        if not (0 < value <= most_s or (may_be_zero and value == 0)):
            field.refuse(f"{'from' if may_be_zero else 'more than'} 0 and at most {most_s:.0f} seconds")
            return None
        return float(value)

    least = {"minimum": 0} if may_be_zero else {"exclusiveMinimum": 0}
    schema = {
        "type": ["number", "string"],
        **least,
        "maximum": most_s,
        "pattern": r"^(\d+|(\d+(\.\d+)?(h|m|s|ms))+)$",
        "examples": [90, "10m"],
    }
    return Shape(read, schema)


def choice(*choices: str) -> Shape:
    def read(field: Field) -> str | None:
        if field.node.is_text and field.node.text in choices:
            return field.node.text
        near = field.problems.suggest(field.node.text, choices).removeprefix("; ")
        field.refuse(f"one of {', '.join(choices)}", near)
        return None

    return Shape(read, {"enum": list(choices)})


def permissions() -> Shape:
    """The digits as they are written: YAML reads 0640 without quotes as a number."""

    def read(field: Field) -> str | None:
        if not field.node.is_text or not _MODE.fullmatch(field.node.text):
            field.refuse("permissions in octal digits", "write '0644', or what you mean, in quotes")
            return None
        return field.node.text

    return Shape(read, {"type": ["string", "integer"], "pattern": "^[0-7]{3,4}$"})


def mapping() -> Shape:
    """A mapping to any values."""

    def read(field: Field) -> dict[str, Any] | None:
        return field.node.as_data() if field.require_mapping("a mapping") else None

    return Shape(read, {"type": "object"})


def texts_by_name() -> Shape:
    """A mapping to texts, each of which may be computed."""
    value = computed(text(may_be_empty=True))

    def read(field: Field) -> dict[str, Any] | None:
        if not field.require_mapping("a mapping from names to texts"):
            return None
        return {name: value.read(item) for name, item in field.entries()}

    return Shape(read, {"type": "object", "additionalProperties": value.schema})


def anything() -> Shape:
    return Shape(lambda field: field.node.as_data(), {})


def computed(shape: Shape) -> Shape:
    """A value of a shape, or an expression that gives it for each node."""

    def read(field: Field) -> Any:
        return field.node.as_data() if read_expression(field) is not None else shape.read(field)

    return Shape(read, {"anyOf": [shape.schema, EXPRESSION_SCHEMA]})


def one_or_more(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list that may be written without brackets if it has one item; nothing counts as an empty list."""
    return {"anyOf": [schema, {"type": "array", "items": schema}, {"type": "null"}]}
