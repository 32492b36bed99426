"""Methods of MatchData, what a regular expression has matched."""

import re
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method
from precast.lang.ruby.methods.strings import slice_bounds
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Range, Symbol, inspect

Args = list[Any]
Match = re.Match[str]


def _all(this: Match) -> list[Any]:
    return [this[0], *this.groups()]


@method("MatchData", "captures")
def _captures(execution: Execution, this: Match, args: Args, block: Proc | None) -> list[Any]:
    return list(this.groups())


@method("MatchData", "to_a")
def _to_a(execution: Execution, this: Match, args: Args, block: Proc | None) -> list[Any]:
    return _all(this)


@method("MatchData", "named_captures")
def _named(execution: Execution, this: Match, args: Args, block: Proc | None) -> dict[Any, Any]:
    return dict(this.groupdict())


@method("MatchData", "names")
def _names(execution: Execution, this: Match, args: Args, block: Proc | None) -> list[Any]:
    return list(this.re.groupindex)


@method("MatchData", "pre_match")
def _before(execution: Execution, this: Match, args: Args, block: Proc | None) -> str:
    return this.string[: this.start()]


@method("MatchData", "post_match")
def _after(execution: Execution, this: Match, args: Args, block: Proc | None) -> str:
    return this.string[this.end() :]


@method("MatchData", "to_s")
def _to_s(execution: Execution, this: Match, args: Args, block: Proc | None) -> str:
    return this[0]


@method("MatchData", "string")
def _string(execution: Execution, this: Match, args: Args, block: Proc | None) -> str:
    return this.string


@method("MatchData", "length", "size")
def _length(execution: Execution, this: Match, args: Args, block: Proc | None) -> int:
    return len(this.groups()) + 1


@method("MatchData", "begin")
def _begin(execution: Execution, this: Match, args: Args, block: Proc | None) -> int | None:
    at = this.start(_group(args[0]))
    return None if at < 0 else at


@method("MatchData", "end")
def _end(execution: Execution, this: Match, args: Args, block: Proc | None) -> int | None:
    at = this.end(_group(args[0]))
    return None if at < 0 else at


@method("MatchData", "values_at")
def _values_at(execution: Execution, this: Match, args: Args, block: Proc | None) -> list[Any]:
    return [_item(execution, this, [arg], None) for arg in args]


@method("MatchData", "inspect")
def _inspect(execution: Execution, this: Match, args: Args, block: Proc | None) -> str:
    names = {number: name for name, number in this.re.groupindex.items()}
    parts = [f"{names.get(at, at)}:{inspect(value)}" for at, value in enumerate(this.groups(), 1)]
    return f"#<MatchData {' '.join([inspect(this[0]), *parts])}>"


@method("MatchData", "[]")
def _item(execution: Execution, this: Match, args: Args, block: Proc | None) -> Any:
    first, items = args[0], _all(this)
    if isinstance(first, Range):
        start, stop = slice_bounds(first, len(items))
        return items[start:stop] if 0 <= start <= len(items) else None
    if len(args) > 1:
        start = int(first) + (len(items) if first < 0 else 0)
        return items[start : start + int(args[1])] if 0 <= start <= len(items) else None
    if isinstance(first, str | Symbol):
        return this[_group(first)]
    return items[first] if -len(items) <= first < len(items) else None


def _group(name: Any) -> Any:
    """Return the group of a number, symbol or text."""
    return name.name if isinstance(name, Symbol) else name
