"""Renders again every ERB template that Puppet rendered during a compile, with the same variables, and compares the bytes.

A record contains everything the template asked for: its own variables, its lookups in the scope, the functions it called. So each
template is judged alone, independently of the catalog around it.
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
from precast.lang.ruby.values import Symbol, to_ruby
from precast.lang.values.base import Hash, Sensitive

Record = dict[str, Any]


class TemplateComparison(msgspec.Struct, frozen=True):
    """The comparison of one rendering: `difference` is empty if every byte is equal."""

    template: str
    difference: str


class RecordedHost:
    """Answers a template's questions from a record."""

    def __init__(self, record: Record, text: str) -> None:
        set_by_itself = re.findall(r"scope\.setvar\('(\w+)'", text)
        asked = {name: data for name, data in record["variables"].items() if name not in set_by_itself}
        self._variables = {_plain_name(name): value(data) for name, data in {**asked, **record["own"]}.items()}
        self._template_variables = {name: symbols(data) for name, data in asked.items() if _has_symbols(data)}
        self._calls = [(name, value(args), value(result)) for name, args, result in record["calls"]]

    def variable(self, scope: Any, name: str) -> Any:
        return self._variables.get(_plain_name(name))

    def has_variable(self, scope: Any, name: str) -> bool:
        return _plain_name(name) in self._variables

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        index = next((index for index, call in enumerate(self._calls) if call[:2] == (name, tuple(args))), None)
        if index is None:
            raise LookupError(f"Puppet's rendering did not call {name} with {args}")
        return self._calls.pop(index)[2]

    def concrete(self, value: Any, span: Any) -> Any:
        return value

    def variable_names(self, scope: Any) -> list[str]:
        return list(self._variables)

    def replace_value(self, scope: Any, before: Any, now: Any) -> None:
        """Ignore the change: nothing else reads the value here."""

    def call_legacy_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        return self.call_function(scope, name, args, block)

    def template_methods(self) -> dict[str, Any]:
        return {}

    def template_variables(self, scope: Any) -> dict[str, Any]:
        return self._template_variables


def _plain_name(name: str) -> str:
    return name.removeprefix("::")


def _has_symbols(data: Any) -> bool:
    return isinstance(data, dict) and data.get("__ptype") == "Hash" and "Symbol" in str(data)


def symbols(data: Any) -> Any:
    """An object that templates made themselves, as they see it."""
    if isinstance(data, dict) and data.get("__ptype") == "Hash":
        return {symbols(key): symbols(item) for key, item in data["__pvalue"]}
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
        return Hash.of((value(key), value(item)) for key, item in data["__pvalue"])
    if kind == "Sensitive":
        return Sensitive(value(data["__pvalue"]))
    if kind == "Bytes":
        return base64.b64decode(data["__pvalue"]).decode("latin-1")
    return Hash.of((key, value(item)) for key, item in data.items())


def render_record(record: Record) -> TemplateComparison:
    """Render a record's template and compare. Never raises."""
    template = record["file"] or "inline"
    text = record["text"] or Path(template).read_text(encoding="utf-8")
    try:
        text_now = render(RecordedHost(record, text), None, Source(template, text))
    except PrecastError as error:
        return TemplateComparison(template, f"{error.code} {error.message}")
    except Exception as error:  # noqa: BLE001 - the boundary: one template must not end the others
        return TemplateComparison(template, f"crash {type(error).__name__}: {error}")
    return TemplateComparison(
        template, "" if text_now == record["result"] else f"ours is {text_now!r}, Puppet's is {record['result']!r}"
    )


def replay(records: Path) -> list[TemplateComparison]:
    with records.open(encoding="utf-8") as lines:
        return [render_record(json.loads(line)) for line in lines]


def equal_templates(results: Sequence[TemplateComparison]) -> tuple[int, int]:
    """The number of templates whose renderings are all equal, and the number of templates."""
    wrong = {result.template for result in results if result.difference}
    return len({result.template for result in results} - wrong), len({result.template for result in results})


def report(records: Path, show: int) -> None:
    if not records.is_file():
        return
    results = replay(records)
    wrong = [result for result in results if result.difference]
    equal, tried = equal_templates(results)
    print(f"ERB: {len(results) - len(wrong)} of {len(results)} renderings equal, {equal} of {tried} templates")
    for result in {result.template: result for result in wrong}.values():
        print(f"  {result.template}: {result.difference[:400]}")
