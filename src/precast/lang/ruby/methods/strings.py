"""Methods of String without patterns. A method whose name ends in `!` is the one without it, with the result assigned."""

import re
from collections.abc import Callable
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, method, plain_text, to_str
from precast.lang.ruby.methods.numbers import integer
from precast.lang.ruby.methods.objects import as_pattern
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.stdlib.sprintf import sprintf
from precast.lang.ruby.stdlib.successors import successor
from precast.lang.ruby.values import MAX_LENGTH, Pattern, Range, Symbol, from_ruby, join_pieces, range_items

_FLOAT = re.compile(r"\s*[-+]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][-+]?\d+)?")
_BLANKS = " \t\n\v\f\r\0"


def _simple(names: str, do: Callable[[str], Any]) -> None:
    """Declare methods without arguments."""
    for name in names.split():
        METHODS.setdefault("String", {})[name] = _plain(do)


def _plain(do: Callable[[str], Any]) -> Any:
    return lambda execution, this, args, block: do(this)


_simple("upcase", str.upper)
_simple("downcase", str.lower)
_simple("swapcase", str.swapcase)
_simple("capitalize", lambda this: this[:1].upper() + this[1:].lower())
_simple("strip", lambda this: this.strip(_BLANKS))
_simple("lstrip", lambda this: this.lstrip(_BLANKS))
_simple("rstrip", lambda this: this.rstrip(_BLANKS))
_simple("reverse", lambda this: this[::-1])
_simple("length size", len)
_simple("bytesize", lambda this: len(this.encode()))
_simple("empty?", lambda this: not this)
_simple("to_sym intern", Symbol)
_simple("to_str", lambda this: this)
_simple("chars", list)
_simple("bytes", lambda this: list(this.encode()))
_simple("lines", lambda this: this.splitlines(keepends=True))
_simple("chop", lambda this: this[:-1])
_simple("chr", lambda this: this[:1])
_simple("ord", lambda this: ord(this[0]))
_simple("hex", lambda this: integer(this.removeprefix("0x"), 16))
_simple("oct", lambda this: integer(this, 8))
_simple("succ next", successor)
_simple("ascii_only?", str.isascii)


@method("String", "to_i")
def _to_i(execution: Execution, this: str, args: list[Any], block: Proc | None) -> int:
    return integer(this, int(args[0]) if args else 10)


@method("String", "to_f")
def _to_f(execution: Execution, this: str, args: list[Any], block: Proc | None) -> float:
    match = _FLOAT.match(this)
    return float(match[0].replace("_", "")) if match is not None else 0.0


@method("String", "+")
def _add(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return str(join_pieces([this, to_str(args[0])]))


@method("String", "*")
def _repeat(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    if int(args[0]) < 0:
        raise ValueError("argument must be non-negative" if args[0] != -1 else "negative argument")
    if len(this) * int(args[0]) > MAX_LENGTH:
        raise issues.TOO_LARGE.error(limit=MAX_LENGTH)
    return this * int(args[0])


@method("String", "%")
def _format(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    given = args[0] if isinstance(args[0], list) else [args[0]]
    return sprintf(this, [from_ruby(item) for item in given])


@method("String", "<<", "concat")
def _append(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return str(join_pieces([this, *(chr(arg) if type(arg) is int else plain_text(execution, arg) for arg in args)]))


@method("String", "[]", "slice")
def _index(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str | None:
    first = args[0]
    if isinstance(first, Pattern):
        match = first.compiled.search(this)
        return None if match is None else match[args[1] if len(args) > 1 else 0]
    if isinstance(first, str):
        return first if first in this else None
    if isinstance(first, Range):
        start, stop = slice_bounds(first, len(this))
        return this[start:stop] if 0 <= start <= len(this) else None
    start = int(first) + (len(this) if first < 0 else 0)
    if len(args) > 1:
        return this[start : start + int(args[1])] if 0 <= start <= len(this) else None
    return this[start] if 0 <= start < len(this) else None


def slice_bounds(span: Range, length: int) -> tuple[int, int]:
    """Return where a range begins and ends in a string or array of this length."""
    start = 0 if span.first is None else int(span.first)
    last = length - 1 if span.last is None else int(span.last)
    start += length if start < 0 else 0
    last += length if last < 0 else 0
    return start, max(start, last + (not span.is_exclusive))


@method("String", "include?")
def _include(execution: Execution, this: str, args: list[Any], block: Proc | None) -> bool:
    return to_str(args[0]) in this


@method("String", "start_with?")
def _starts(execution: Execution, this: str, args: list[Any], block: Proc | None) -> bool:
    return any(
        arg.compiled.match(this) is not None if isinstance(arg, Pattern) else this.startswith(to_str(arg))
        for arg in args
    )


@method("String", "end_with?")
def _ends(execution: Execution, this: str, args: list[Any], block: Proc | None) -> bool:
    return any(this.endswith(to_str(arg)) for arg in args)


@method("String", "index")
def _find(execution: Execution, this: str, args: list[Any], block: Proc | None) -> int | None:
    match = as_pattern(args[0]).compiled.search(this, int(args[1]) if len(args) > 1 else 0)
    return None if match is None else int(match.start())


@method("String", "rindex")
def _find_last(execution: Execution, this: str, args: list[Any], block: Proc | None) -> int | None:
    at = this.rfind(to_str(args[0]))
    return None if at < 0 else at


@method("String", "delete")
def _delete(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return re.sub(_char_set(to_str(args[0])), "", this)


@method("String", "squeeze")
def _squeeze(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    inside = _char_set(to_str(args[0])) if args else "."
    return re.sub(rf"({inside})\1+", r"\1", this, flags=re.DOTALL)


@method("String", "count")
def _count(execution: Execution, this: str, args: list[Any], block: Proc | None) -> int:
    return len(re.findall(_char_set(to_str(args[0])), this))


def _char_set(spec: str) -> str:
    if not spec:
        return "(?!)"
    negated = len(spec) > 1 and spec.startswith("^")
    body = "".join(char if char == "-" else re.escape(char) for char in spec[negated:])
    return f"[{'^' if negated else ''}{body}]"


@method("String", "tr", "tr_s")
def _translate(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    source, target = to_str(args[0]), _expand(to_str(args[1]))
    if len(source) > 1 and source.startswith("^"):
        kept = set(_expand(source[1:]))
        return "".join(char if char in kept else target[-1:] for char in this)
    letters = _expand(source)
    table = {
        char: target[min(at, len(target) - 1)] if target else "" for at, char in reversed(list(enumerate(letters)))
    }
    return "".join(table.get(char, char) for char in this)


def _expand(spec: str) -> str:
    return re.sub(
        r"(.)-(.)", lambda match: "".join(map(chr, range(ord(match[1]), ord(match[2]) + 1))), spec, flags=re.DOTALL
    )


@method("String", "chomp")
def _chomp(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return this.removesuffix(to_str(args[0])) if args else re.sub(r"(?:\r\n|\n|\r)\Z", "", this)


@method("String", "delete_prefix")
def _without_prefix(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return this.removeprefix(to_str(args[0]))


@method("String", "delete_suffix")
def _without_suffix(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return this.removesuffix(to_str(args[0]))


def _pad(this: str, args: list[Any]) -> tuple[int, str]:
    return max(0, int(args[0]) - len(this)), to_str(args[1]) if len(args) > 1 else " "


@method("String", "ljust")
def _ljust(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    missing, fill = _pad(this, args)
    return this + (fill * missing)[:missing]


@method("String", "rjust")
def _rjust(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    missing, fill = _pad(this, args)
    return (fill * missing)[:missing] + this


@method("String", "center")
def _center(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    missing, fill = _pad(this, args)
    left = missing // 2
    return (fill * missing)[:left] + this + (fill * missing)[: missing - left]


@method("String", "each_line")
def _each_line(execution: Execution, this: str, args: list[Any], block: Proc | None) -> Any:
    lines = this.splitlines(keepends=True)
    if block is None:
        return lines
    for line in lines:
        execution.yield_to(block, line)
    return this


@method("String", "each_char")
def _each_char(execution: Execution, this: str, args: list[Any], block: Proc | None) -> Any:
    if block is None:
        return list(this)
    for char in this:
        execution.yield_to(block, char)
    return this


@method("String", "insert")
def _insert(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    at = int(args[0]) + (len(this) + 1 if args[0] < 0 else 0)
    return this[:at] + to_str(args[1]) + this[at:]


@method("String", "prepend")
def _prepend(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return "".join(map(to_str, args)) + this


@method("String", "replace")
def _replace_all(execution: Execution, this: str, args: list[Any], block: Proc | None) -> str:
    return to_str(args[0])


@method("String", "casecmp")
def _casecmp(execution: Execution, this: str, args: list[Any], block: Proc | None) -> int:
    left, right = this.lower(), to_str(args[0]).lower()
    return (left > right) - (left < right)


@method("String", "casecmp?")
def _casecmp_equal(execution: Execution, this: str, args: list[Any], block: Proc | None) -> bool:
    return this.casefold() == to_str(args[0]).casefold()


@method("String", "upto")
def _upto(execution: Execution, this: str, args: list[Any], block: Proc | None) -> Any:
    items = range_items(Range(this, to_str(args[0]), False))
    if block is None:
        return items
    for item in items:
        execution.yield_to(block, item)
    return this
