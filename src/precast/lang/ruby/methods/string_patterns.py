"""Methods of String that take a pattern, and those of the match it finds."""

import re
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, plain_text, to_str
from precast.lang.ruby.methods.objects import as_pattern
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Pattern
from precast.lang.values.regexps import compile_regexp


@method("String", "split")
def _split(execution: Execution, this: str, args: list[Any], block: Proc | None) -> list[str]:
    limit = int(args[1]) if len(args) > 1 else 0
    if not args or args[0] is None or args[0] == " ":
        return this.split(None, limit - 1) if limit > 0 else this.split()
    if args[0] == "":
        return list(this)
    pattern = as_pattern(args[0]).compiled
    pieces = _split_by(pattern, this, limit)
    while limit == 0 and pieces and pieces[-1] == "":
        pieces.pop()
    return pieces


def _split_by(pattern: "re.Pattern[str]", this: str, limit: int) -> list[str]:
    pieces, at = list[str](), 0
    for match in pattern.finditer(this):
        if limit > 0 and len(pieces) >= limit - 1:
            break
        if match.end() == match.start() and match.start() in (at, len(this)):
            continue
        pieces.append(this[at : match.start()])
        pieces += [group for group in match.groups() if group is not None]
        at = match.end()
    return [*pieces, this[at:]] if this else []


@method("String", "sub")
def _sub(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return _replace(execution, this, args, block, 1)


@method("String", "gsub")
def _gsub(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return _replace(execution, this, args, block, 0)


def _replace(execution: Execution, this: str, args: list[Any], block: Proc | None, count: int) -> str:
    pattern = as_pattern(args[0]).compiled
    if len(args) < 2:

        def by_block(match: "re.Match[str]") -> str:
            execution.match = match
            return plain_text(execution, execution.yield_to(block, match[0]))

        return str(pattern.sub(by_block, this, count))
    execution.match = pattern.search(this)
    if isinstance(args[1], dict):
        table = args[1]
        return str(pattern.sub(lambda match: plain_text(execution, table.get(match[0])), this, count))
    replacement = to_str(args[1])
    return str(pattern.sub(lambda match: _expand_groups(match, replacement), this, count))


def _expand_groups(match: "re.Match[str]", replacement: str) -> str:
    def expand(reference: "re.Match[str]") -> str:
        if reference[1] is not None:
            number = int(reference[1])
            return (match[number] or "") if number <= len(match.groups()) else ""
        if reference[2] is not None:
            return match[reference[2]] or ""
        return {"\\&": match[0], "\\\\": "\\"}[reference[0]]

    return re.sub(r"\\(\d)|\\k<(\w+)>|\\&|\\\\", expand, replacement)


@method("String", "match")
def _match(execution: Execution, this: str, args: list[Any], block: Proc | None) -> Any:
    execution.match = _pattern_of(args[0]).compiled.search(this, int(args[1]) if len(args) > 1 else 0)
    if block is not None and execution.match is not None:
        return execution.yield_to(block, execution.match)
    return execution.match


@method("String", "match?")
def _is_match(execution: Execution, this: str, args: list[Any], block: Proc | None) -> bool:
    return _pattern_of(args[0]).compiled.search(this) is not None


def _pattern_of(value: Any) -> Pattern:
    """Return the pattern to match: a text is the source of one."""
    return value if isinstance(value, Pattern) else Pattern(to_str(value), compile_regexp(to_str(value)))


@method("String", "scan")
def _scan(execution: Execution, this: str, args: list[Any], block: Proc | None) -> Any:
    found = list(as_pattern(args[0]).compiled.finditer(this))
    matches: list[Any] = [list(match.groups()) if match.re.groups else match[0] for match in found]
    if found:
        execution.match = found[-1]
    if block is None:
        return matches
    for match, item in zip(found, matches, strict=True):
        execution.match = match
        execution.yield_to(block, item)
    return this


@method("String", "partition")
def _partition(execution: Execution, this: str, args: list[Any], block: Proc | None) -> list[str]:
    match = as_pattern(args[0]).compiled.search(this)
    return [this, "", ""] if match is None else [this[: match.start()], match[0], this[match.end() :]]
