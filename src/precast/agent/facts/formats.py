"""Reads facts from what files and programs say: JSON, YAML, or lines of key=value.

YAML goes through the loader in Python, not through libyaml: that one ends the process on deep nesting. It is slow, so its size has a
limit of its own, and so has the number of aliases, which can multiply. Dates stay the text they are written as.
"""

import re
from typing import Any, ClassVar

import msgspec
import yaml  # type: ignore[import-untyped]

from precast.agent import issues
from precast.agent.facts.machine import Facts
from precast.agent.facts.sources import Found, only

MAX_YAML_BYTES = 200_000
MAX_ALIASES = 32

_PAIR = re.compile(r"([^\s=#][^=]*?)\s*=\s*(.*)")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, with bounded aliases and without dates."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MAX_ALIASES:
                raise yaml.YAMLError(f"more than {MAX_ALIASES} aliases")
        return super().compose_node(parent, index)


def from_json(path: str, data: bytes) -> Found:
    """Raises InputError FACT-024 for what is no map in JSON."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _broken(path, f"it is no JSON: {_short(error)}") from None
    return only(_top_level(path, value))


def from_yaml(path: str, data: bytes) -> Found:
    """Raises InputError FACT-024 for what is no map in YAML, FACT-026 for too much of it."""
    if len(data) > MAX_YAML_BYTES:
        raise issues.TOO_LARGE.error(path=path, limit_bytes=MAX_YAML_BYTES)
    try:
        value = yaml.load(data.decode("utf-8-sig"), _Loader)  # noqa: S506 - it is a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError, LookupError, TypeError) as error:
        raise _broken(path, f"it is no YAML: {_short(error)}") from None
    return only(_top_level(path, {} if value is None else value))


def from_lines(path: str, data: bytes) -> Found:
    """Lines of key=value, all text; blank lines and comments with # are passed over. A line that is neither is a warning."""
    facts: Facts = {}
    bad = []
    for number, line in enumerate(data.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if match := _PAIR.fullmatch(line.strip()):
            facts[match[1].lower()] = match[2]
        else:
            bad.append(number)
    return Found(facts, [issues.BAD_LINE.error(path=path, line=bad[0])] if bad else [], [])


def from_output(path: str, data: bytes) -> Found:
    """What a program printed: JSON if it begins like it, key=value if its first line is such a pair, otherwise YAML."""
    start = data.lstrip()[:1]
    if start == b"{":
        return from_json(path, data)
    first = data.lstrip().partition(b"\n")[0].decode("utf-8", errors="replace").strip()
    if re.match(r"[^\s:=]+=", first):
        return from_lines(path, data)
    return from_yaml(path, data)


def _top_level(path: str, value: Any) -> Facts:
    """Names of facts are lower case, as Puppet's variables are."""
    if not isinstance(value, dict):
        raise _broken(path, f"it holds a {type(value).__name__}, not a map from names to values")
    return {str(name).lower(): item for name, item in value.items()}


def _broken(path: str, reason: str) -> Exception:
    return issues.BROKEN.error(path=path, reason=reason)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
