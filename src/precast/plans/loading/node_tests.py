"""Reads the tests before and after a task: one mapping or a list of them, each named by what it looks at.

An option that does not exist is an error, because a test that ignores it would pass where it was meant to fail. Only beside `cmd`, the one
test that Fuel has, it is a warning.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from precast.plans import issues
from precast.plans.loading.fields import Field
from precast.plans.loading.shapes import (
    Shape,
    anything,
    choice,
    duration,
    mapping,
    number,
    one_or_more,
    text,
    words,
)
from precast.wire.jobs.programs import (
    MAX_COMMAND_CHARS,
    MAX_TESTS,
    AnyTest,
    CatalogWork,
    CleanTest,
    CommandTest,
    FactTest,
    FileTest,
    HttpTest,
    ManifestWork,
    ResourceTest,
    TcpTest,
)

_REFERENCE: Final = re.compile(r"([A-Za-z][\w:]*)\[(.+)\]", re.DOTALL)
_HOST_AND_PORT: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[^:\s\[\]]+):)?([0-9]{1,5})")
_URL: Final = re.compile(r"https?://[^\s/]\S*")
_TIMES: Final = {"timeout": ("timeout_s", duration()), "within": ("within_s", duration(may_be_zero=True))}


class _Kind(NamedTuple):
    """A kind of test: its struct, what it looks at and under which names, and its options."""

    make: Callable[..., AnyTest]
    shape: Shape
    description: str
    options: Mapping[str, Shape] = {}


def node_tests() -> Shape:
    return Shape(_read_tests, one_or_more(_make_schema()))


def _read_tests(field: Field) -> tuple[AnyTest, ...]:
    items = field.items()
    if len(items) > MAX_TESTS:
        field.refuse(f"at most {MAX_TESTS} tests")
        return ()
    return tuple(test for item in items if (test := _read_test(item)) is not None)


def _read_test(item: Field) -> AnyTest | None:
    if not item.require_mapping("a test", "write `cmd: COMMAND`, or one of the other tests"):
        return None
    names = [name for name in NODE_TESTS if name in (item.node.entries or {})]
    if len(names) != 1:
        _refuse_kind(item, names)
        return None
    name = names[0]
    kind = NODE_TESTS[name]
    known = (name, *kind.options, *_TIMES)
    if name == "cmd":
        item.warn_unknown(known)
    else:
        item.refuse_unknown(known)
    values = _read_subject(item, name, kind)
    for option, shape in kind.options.items():
        _read_option(item, option, option, shape, values)
    for option, (attribute, shape) in _TIMES.items():
        _read_option(item, option, attribute, shape, values)
    return None if None in values.values() else kind.make(**values)


def _refuse_kind(item: Field, names: list[str]) -> None:
    if names:
        advice = "write them as two tests of a list"
        item.error(issues.WRONG_VALUE, what=item.label, wanted="one test", found=" and ".join(names), advice=advice)
        return
    near = next((found for key in item.node.entries or {} if (found := item.problems.suggest(key, NODE_TESTS))), "")
    item.error(issues.NO_TEST, what=item.label, guess=near, known=", ".join(NODE_TESTS))


def _read_subject(item: Field, name: str, kind: _Kind) -> dict[str, Any]:
    """What the test looks at: the attributes that its shape gives."""
    subject = dict(item.entries())[name]
    found = kind.shape.read(subject)
    return found if isinstance(found, dict) else {name: found}


def _read_option(item: Field, option: str, attribute: str, shape: Shape, values: dict[str, Any]) -> None:
    if (field := item.get(option)) is not None:
        values[attribute] = shape.read(field)


def _matching(
    pattern: re.Pattern[str], wanted: str, hint: str, make: Callable[[re.Match[str]], dict[str, Any] | None]
) -> Shape:
    """A text of a form, which gives attributes."""

    def read(field: Field) -> dict[str, Any] | None:
        match = pattern.fullmatch(field.node.text) if field.node.is_text and len(field.node.text) <= 4_096 else None
        if match is None or (found := make(match)) is None:
            field.refuse(wanted, hint)
            return None
        return found

    return Shape(read, {"type": ["string", "integer"]})


def _make_address(match: re.Match[str]) -> dict[str, Any] | None:
    port = int(match[2])
    if not 1 <= port <= 65_535:
        return None
    return {"port": port} if match[1] is None else {"host": match[1].strip("[]"), "port": port}


def _read_codes(field: Field) -> list[int] | None:
    codes = [_CODE.read(item) for item in field.items()]
    return None if None in codes else codes


def _read_clean(field: Field) -> dict[str, Any] | None:
    if not field.require_mapping(
        "what must be clean", "write `manifest: ENTRY`, or `catalog:` with tags, classes or stages"
    ):
        return None
    field.refuse_unknown(("manifest", "catalog"))
    entries = dict(field.entries())
    if entries.keys() == {"manifest"}:
        entry = text("an entry point").read(entries["manifest"])
        return None if entry is None else {"work": ManifestWork(entry, "noop")}
    if entries.keys() == {"catalog"}:
        return {"work": _read_part(entries["catalog"])}
    field.refuse("a manifest or a catalog", "write one of them")
    return None


def _read_part(field: Field) -> CatalogWork | None:
    if field.node.is_null:
        return CatalogWork("noop")
    if not field.require_mapping("a part of the catalog", "write tags, classes or stages below it"):
        return None
    field.refuse_unknown(_PARTS)
    found = {part: list(words().read(item)) for part in _PARTS if (item := field.get(part)) is not None}
    return CatalogWork("noop", **found)


def _make_clean_schema() -> dict[str, Any]:
    parts = {part: words().schema for part in _PARTS}
    catalog = {"type": ["object", "null"], "properties": parts, "additionalProperties": False}
    properties = {"manifest": {"type": "string"}, "catalog": catalog}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


_PARTS: Final = ("tags", "classes", "stages")
_CODE: Final = number(100, 599)
_STATUS: Final = Shape(_read_codes, one_or_more(_CODE.schema))
_CONTAINS: Final = text("a text")
NODE_TESTS: Final[Mapping[str, _Kind]] = {
    "cmd": _Kind(CommandTest, text("a command", MAX_COMMAND_CHARS), "Passes if this command of the shell ends with 0."),
    "http": _Kind(
        HttpTest,
        _matching(_URL, "a URL with http:// or https://", "", lambda match: {"url": match[0]}),
        "Passes if a GET of this URL is answered with the status, and the answer contains the text.",
        {"status": _STATUS, "contains": _CONTAINS},
    ),
    "tcp": _Kind(
        TcpTest,
        _matching(_HOST_AND_PORT, "an address as 'HOST:PORT'", "write 'localhost:80', in quotes", _make_address),
        "Passes if HOST:PORT accepts a connection.",
    ),
    "file": _Kind(
        FileTest,
        _matching(re.compile(r"/[^\0]*"), "an absolute path", "", lambda match: {"path": match[0]}),
        "Passes if this path is of the kind `state`, and contains the text.",
        {"state": choice("present", "absent", "file", "directory", "link"), "contains": _CONTAINS},
    ),
    "fact": _Kind(
        FactTest, text("the path of a fact"), "Passes if this fact exists, and is `equals`.", {"equals": anything()}
    ),
    "resource": _Kind(
        ResourceTest,
        _matching(
            _REFERENCE,
            "a resource as 'Type[title]'",
            "write 'Service[nginx]', in quotes",
            lambda match: {"type": match[1].lower(), "title": match[2]},
        ),
        "Passes if this resource is in sync.",
        {"parameters": mapping()},
    ),
    "clean": _Kind(
        CleanTest,
        Shape(_read_clean, _make_clean_schema()),
        "Passes if a no-op run of a manifest, or of a part of the released catalog, would change nothing.",
    ),
}


def _make_schema() -> dict[str, Any]:
    times = {
        "timeout": {**_TIMES["timeout"][1].schema, "description": "How long one attempt may take."},
        "within": {**_TIMES["within"][1].schema, "description": "Repeat the test for so long until it passes."},
    }
    return {
        "type": "object",
        "anyOf": [
            {
                "properties": {
                    name: {**kind.shape.schema, "description": kind.description},
                    **{option: shape.schema for option, shape in kind.options.items()},
                    **times,
                },
                "required": [name],
                **({} if name == "cmd" else {"additionalProperties": False}),
            }
            for name, kind in NODE_TESTS.items()
        ],
    }
