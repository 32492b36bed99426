"""Reads facts from files and from the output of programs: JSON, YAML, or lines of key=value.

The YAML loader is slow, so its input has a limit of its own; it is also slow to import, so it is imported only when there is YAML.
"""

import re
from typing import Any

import msgspec

from precast.agent import issues
from precast.agent.facts.machine import Facts
from precast.agent.facts.sources import SourceResult, only_facts

MAX_YAML_BYTES = 200_000

_PAIR = re.compile(r"([^\s=#][^=]*?)\s*=\s*(.*)")


def from_json(path: str, data: bytes) -> SourceResult:
    """Read facts from a JSON map. Raises InputError FACT-024."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _broken(path, f"it is not valid JSON: {_short(error)}") from None
    return only_facts(_top_level(path, value))


def from_yaml(path: str, data: bytes) -> SourceResult:
    """Read facts from a YAML map. Raises InputError FACT-024, FACT-026 if it is too large."""
    if len(data) > MAX_YAML_BYTES:
        raise issues.TOO_LARGE.error(path=path, limit_bytes=MAX_YAML_BYTES)
    from precast.agent.facts.yaml_values import BAD_YAML, load

    try:
        value = load(data.decode("utf-8-sig"))
    except BAD_YAML as error:
        raise _broken(path, f"it is not valid YAML: {_short(error)}") from None
    return only_facts(_top_level(path, {} if value is None else value))


def from_lines(path: str, data: bytes) -> SourceResult:
    """Read facts from lines of key=value; all values are text. Blank lines and comments with # are ignored; other lines are a warning."""
    facts: Facts = {}
    bad = []
    for number, line in enumerate(data.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if match := _PAIR.fullmatch(line.strip()):
            facts[match[1].lower()] = match[2]
        else:
            bad.append(number)
    return SourceResult(facts, [issues.BAD_LINE.error(path=path, line=bad[0])] if bad else [], [])


def from_output(path: str, data: bytes) -> SourceResult:
    """Read facts from the output of a program: JSON if it begins with {, key=value if its first line is such a pair, otherwise YAML."""
    start = data.lstrip()[:1]
    if start == b"{":
        return from_json(path, data)
    first = data.lstrip().partition(b"\n")[0].decode("utf-8", errors="replace").strip()
    if re.match(r"[^\s:=]+=", first):
        return from_lines(path, data)
    return from_yaml(path, data)


def _top_level(path: str, value: Any) -> Facts:
    """Convert the names of facts to lower case, like Puppet's variables."""
    if not isinstance(value, dict):
        raise _broken(path, f"it contains a {type(value).__name__}, not a map from names to values")
    return {str(name).lower(): item for name, item in value.items()}


def _broken(path: str, reason: str) -> Exception:
    return issues.BROKEN.error(path=path, reason=reason)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
