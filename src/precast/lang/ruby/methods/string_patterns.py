"""Methods of String that take a pattern, and those of the match it finds."""

import re
from typing import Any

from precast.lang.ruby.execution import Execution, no_method_error
from precast.lang.ruby.methods.dispatch import method, plain_text, to_str
from precast.lang.ruby.methods.objects import as_pattern
from precast.lang.ruby.values import Proc, Symbol


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
    execution.match = as_pattern(args[0]).compiled.search(this)
    return execution.match


@method("String", "match?")
def _is_match(execution: Execution, this: str, args: list[Any], block: Proc | None) -> bool:
    return as_pattern(args[0]).compiled.search(this) is not None


@method("String", "scan")
def _scan(execution: Execution, this: str, args: list[Any], block: Proc | None) -> Any:
    matches: list[Any] = [
        list(match.groups()) if match.re.groups else match[0] for match in as_pattern(args[0]).compiled.finditer(this)
    ]
    if block is None:
        return matches
    for item in matches:
        execution.yield_to(block, item)
    return this


@method("String", "partition")
def _partition(execution: Execution, this: str, args: list[Any], block: Proc | None) -> list[str]:
    match = as_pattern(args[0]).compiled.search(this)
    return [this, "", ""] if match is None else [this[: match.start()], match[0], this[match.end() :]]


# A match is an object of Python without a kind of its own here, so its methods are declared for Object.


@method("Object", "captures")
def _captures(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> list[Any]:
    return list(this.groups())


@method("Object", "pre_match")
def _before(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> str:
    return str(this.string[: this.start()])


@method("Object", "post_match")
def _after(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> str:
    return str(this.string[this.end() :])


@method("Object", "[]")
def _group(execution: Execution, this: Any, args: list[Any], block: Proc | None) -> Any:
    if not isinstance(this, re.Match):
        raise no_method_error(this, "[]")
    group = args[0].name if isinstance(args[0], Symbol) else args[0]
    return this[group] if not isinstance(group, int) or group <= len(this.groups()) else None
