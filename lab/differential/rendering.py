"""Renders every ERB template again that Puppet rendered while it compiled, with the same variables, and compares the bytes.

A record holds what the template asked for: its own variables, what it looked up in the scope, the functions it called. So a
template is judged alone, whatever the catalog around it looks like.
"""

import base64
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.erb.template import render
from precast.lang.ruby.erb.values import Symbol, to_ruby
from precast.lang.values.core import Hash, Sensitive

Record = dict[str, Any]


class Rendered(msgspec.Struct, frozen=True):
    """How a template fared: `found` is empty if every byte is equal."""

    template: str
    found: str


class RecordedHost:
    """Answers a template from a record."""

    def __init__(self, record: Record, text: str) -> None:
        set_by_itself = re.findall(r"scope\.setvar\('(\w+)'", text)
        asked = {name: each for name, each in record["variables"].items() if name not in set_by_itself}
        self._variables = {_plain_name(name): value(each) for name, each in {**asked, **record["own"]}.items()}
        self._kept = {name: symbols(each) for name, each in asked.items() if _has_symbols(each)}
        self._calls = [(name, value(args), value(result)) for name, args, result in record["calls"]]

    def variable(self, scope: Any, name: str) -> Any:
        return self._variables.get(_plain_name(name))

    def has_variable(self, scope: Any, name: str) -> bool:
        return _plain_name(name) in self._variables

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        at = next((at for at, each in enumerate(self._calls) if each[:2] == (name, tuple(args))), None)
        if at is None:
            raise LookupError(f"Puppet's rendering did not call {name} with {args}")
        return self._calls.pop(at)[2]

    def concrete(self, value: Any, span: Any) -> Any:
        return value

    def variable_names(self, scope: Any) -> list[str]:
        return list(self._variables)

    def replace_variable(self, scope: Any, name: str, before: Any, now: Any) -> None:
        """Nothing else sees it here."""

    def kept(self, scope: Any) -> dict[str, Any]:
        return self._kept


def _plain_name(name: str) -> str:
    return name.removeprefix("::")


def _has_symbols(data: Any) -> bool:
    return isinstance(data, dict) and data.get("__ptype") == "Hash" and "Symbol" in str(data)


def symbols(data: Any) -> Any:
    """An object that templates made themselves, as they see it."""
    if isinstance(data, dict) and data.get("__ptype") == "Hash":
        return {symbols(key): symbols(each) for key, each in data["__pvalue"]}
    if isinstance(data, dict) and data.get("__ptype") == "Symbol":
        return Symbol(data["__pvalue"])
    return to_ruby(value(data))


def value(data: Any) -> Any:
    """A value of the language from its record."""
    if isinstance(data, list):
        return tuple(map(value, data))
    if not isinstance(data, dict):
        return data
    kind = data.get("__ptype")
    if kind == "Hash":
        return Hash.of((value(key), value(each)) for key, each in data["__pvalue"])
    if kind == "Sensitive":
        return Sensitive(value(data["__pvalue"]))
    if kind == "Bytes":
        return base64.b64decode(data["__pvalue"]).decode("latin-1")
    return Hash.of((key, value(each)) for key, each in data.items())


def again(record: Record) -> Rendered:
    """Render a record's template. Never raises."""
    template = record["file"] or "inline"
    text = record["text"] or Path(template).read_text(encoding="utf-8")
    try:
        made = render(RecordedHost(record, text), None, Source(template, text))
    except PrecastError as error:
        return Rendered(template, f"{error.code} {error.message}")
    except Exception as error:  # noqa: BLE001 - the boundary: one template must not end the others
        return Rendered(template, f"crash {type(error).__name__}: {error}")
    return Rendered(template, "" if made == record["result"] else f"ours is {made!r}, Puppet's is {record['result']!r}")


def replay(records: Path) -> list[Rendered]:
    with records.open(encoding="utf-8") as lines:
        return [again(json.loads(line)) for line in lines]


def equal_templates(results: Sequence[Rendered]) -> tuple[int, int]:
    """Templates of which every rendering is equal, and all."""
    wrong = {each.template for each in results if each.found}
    return len({each.template for each in results} - wrong), len({each.template for each in results})


def report(records: Path, show: int) -> None:
    if not records.is_file():
        return
    results = replay(records)
    wrong = [each for each in results if each.found]
    equal, tried = equal_templates(results)
    print(f"ERB: {len(results) - len(wrong)} of {len(results)} renderings equal, {equal} of {tried} templates")
    for each in {each.template: each for each in wrong}.values():
        print(f"  {each.template}: {each.found[:400]}")
