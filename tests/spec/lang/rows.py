"""Specification rows: code with the result of real Puppet 7.23, and the comparison with Precast's result."""

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Rows of functions that modules have in Ruby: recorded with the real modules, run with an empty file in their place.
OF_MODULES = sorted((HERE / "modules").glob("*.jsonl"))
# Files of rows by their kind; rows of functions are expressions.
EXPRESSIONS = [
    HERE / "expressions.jsonl",
    HERE / "language.jsonl",
    HERE / "evaluator.jsonl",
    HERE / "types.jsonl",
    HERE / "erb.jsonl",
    HERE / "hiera.jsonl",
    *sorted((HERE / "functions").glob("*.jsonl")),
    *(path for path in OF_MODULES if not path.stem.endswith("_manifests")),
]
MANIFESTS = [
    HERE / "manifests.jsonl",
    HERE / "causes.jsonl",
    HERE / "causes_variants.jsonl",
    HERE / "catalogs.jsonl",
    HERE / "compiler.jsonl",
    HERE / "random_catalogs.jsonl",
    *(path for path in OF_MODULES if path.stem.endswith("_manifests")),
    HERE / "module_catalogs.jsonl",
    HERE / "hiera_catalogs.jsonl",
    HERE / "hiera_random.jsonl",
]

Row = dict[str, Any]


def read_rows(*paths: Path) -> list[Row]:
    return [
        json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def unequal(name: str = "unequal.txt") -> dict[str, str]:
    """Rows that are known to differ, by id, with the reason."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def corpora() -> Path | None:
    """The directory of further rows, which may not be part of the project."""
    directory = os.environ.get("PRECAST_CORPORA")
    return Path(directory) / "puppet-lang" if directory else None


def difference(mode: str, wanted: Row, answer: Row) -> str:
    """The difference between an answer and the row's result; empty if they are equal."""
    if "crash" in answer:
        return f"crash: {answer['crash']}"
    if wanted.get("error") or answer.get("error"):
        if bool(wanted.get("error")) != bool(answer.get("error")):
            return f"error: {answer.get('message') or wanted.get('message')}"
        return "" if answer.get("code") and answer.get("message") else "an error without code and message"
    parts = _expression(wanted, answer) if mode == "expr" else _manifest(wanted, answer)
    return next(parts, "")


def _expression(wanted: Row, answer: Row) -> Iterator[str]:
    if not same(wanted.get("expect"), answer.get("expect")):
        yield f"value {answer.get('expect')!r}, not {wanted.get('expect')!r}"
    if wanted.get("string") is not None and wanted["string"] != answer.get("string"):
        yield f"string {answer.get('string')!r}, not {wanted['string']!r}"
    if wanted.get("logs", []) != answer.get("logs", []):
        yield f"logs {answer.get('logs')}, not {wanted.get('logs')}"


def _manifest(wanted: Row, answer: Row) -> Iterator[str]:
    ours, theirs = (
        {f"{resource['type']}[{resource['title']}]": resource for resource in row["resources"]}
        for row in (answer, wanted)
    )
    if ours.keys() != theirs.keys():
        yield f"missing {sorted(theirs.keys() - ours.keys())}, extra {sorted(ours.keys() - theirs.keys())}"
        return
    for ref, resource in theirs.items():
        if not same(resource.get("parameters", {}), ours[ref].get("parameters", {})):
            yield f"{ref} has {ours[ref].get('parameters')}, not {resource.get('parameters')}"
        if sorted(resource.get("tags", [])) != sorted(ours[ref].get("tags", [])):
            yield f"{ref} has tags {ours[ref].get('tags')}, not {resource.get('tags')}"
        if bool(resource.get("exported")) != bool(ours[ref].get("exported")):
            yield f"{ref} is exported in one of them"
    for field in ("edges", "relationships"):
        if {tuple(pair) for pair in answer.get(field, [])} != {tuple(pair) for pair in wanted.get(field, [])}:
            yield f"{field} {answer.get(field)}, not {wanted.get(field)}"
    # A row has no order if Puppet's own types refuse a value, which happens long after the catalog is made.
    if "order_error" not in wanted and wanted.get("order", []) != answer.get("order", []):
        yield f"order {answer.get('order')}, not {wanted.get('order')}"


def same(wanted: Any, got: Any) -> bool:
    """Whether two values are equal; an integer differs from an equal float, and true from 1."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    if isinstance(wanted, int | float) and isinstance(got, int | float):
        return type(wanted) is type(got) and (wanted == got or math.isclose(wanted, got, rel_tol=1e-12))
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(same, wanted, got))
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(same(value, got[key]) for key, value in wanted.items())
    if (
        isinstance(wanted, str) and isinstance(got, str) and "<host>" in wanted
    ):  # the corpora write no public host name out
        return re.fullmatch(re.escape(wanted).replace("<host>", "[a-z0-9.-]+"), got) is not None
    return bool(wanted == got)
