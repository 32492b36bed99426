"""Methods of String and of what a match has found. Names that end in `!` are these, with the result assigned."""

import re
from collections.abc import Callable
from typing import Any

from precast.lang.functions.sprintf import sprintf
from precast.lang.ruby.erb.rendering import Rendering, no_method
from precast.lang.ruby.erb.values import Pattern, Proc, Range, Symbol, from_ruby, range_items, successor
from precast.lang.ruby.methods.calls import METHODS, call_method, method, shown, text
from precast.lang.ruby.methods.general import as_pattern
from precast.lang.ruby.methods.numbers import integer

_FLOAT = re.compile(r"\s*[-+]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][-+]?\d+)?")
_BLANKS = " \t\n\v\f\r\0"


def _simple(names: str, do: Callable[[str], Any]) -> None:
    """Methods without arguments."""
    for name in names.split():
        METHODS.setdefault("String", {})[name] = _plain(do)


def _plain(do: Callable[[str], Any]) -> Any:
    return lambda rendering, this, args, block: do(this)


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
def _to_i(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> int:
    return integer(this, int(args[0]) if args else 10)


@method("String", "to_f")
def _to_f(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> float:
    found = _FLOAT.match(this)
    return float(found[0].replace("_", "")) if found is not None else 0.0


@method("String", "+")
def _add(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return this + text(args[0])


@method("String", "*")
def _repeat(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    if len(this) * int(args[0]) > 16 * 1024 * 1024:
        raise ValueError("the text would be too long")
    return this * int(args[0])


@method("String", "%")
def _format(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    given = args[0] if isinstance(args[0], list) else [args[0]]
    return sprintf(this, [from_ruby(item) for item in given])


@method("String", "<<", "concat")
def _append(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return this + "".join(shown(rendering, arg) for arg in args)


@method("String", "[]", "slice")
def _index(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str | None:
    first = args[0]
    if isinstance(first, Pattern):
        found = first.compiled.search(this)
        return None if found is None else found[args[1] if len(args) > 1 else 0]
    if isinstance(first, str):
        return first if first in this else None
    if isinstance(first, Range):
        start, stop = span_of(first, len(this))
        return this[start:stop] if 0 <= start <= len(this) else None
    start = int(first) + (len(this) if first < 0 else 0)
    if len(args) > 1:
        return this[start : start + int(args[1])] if 0 <= start <= len(this) else None
    return this[start] if 0 <= start < len(this) else None


def span_of(wanted: Range, length: int) -> tuple[int, int]:
    """Where a range begins and ends in something of a length."""
    start = 0 if wanted.first is None else int(wanted.first)
    last = length - 1 if wanted.last is None else int(wanted.last)
    start += length if start < 0 else 0
    last += length if last < 0 else 0
    return start, max(start, last + (not wanted.is_exclusive))


@method("String", "include?")
def _include(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> bool:
    return text(args[0]) in this


@method("String", "start_with?")
def _starts(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> bool:
    return any(
        arg.compiled.match(this) is not None if isinstance(arg, Pattern) else this.startswith(text(arg)) for arg in args
    )


@method("String", "end_with?")
def _ends(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> bool:
    return any(this.endswith(text(arg)) for arg in args)


@method("String", "index")
def _find(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> int | None:
    found = as_pattern(args[0]).compiled.search(this, int(args[1]) if len(args) > 1 else 0)
    return None if found is None else int(found.start())


@method("String", "rindex")
def _find_last(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> int | None:
    at = this.rfind(text(args[0]))
    return None if at < 0 else at


@method("String", "delete")
def _delete(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return re.sub(_char_set(text(args[0])), "", this)


@method("String", "squeeze")
def _squeeze(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    inside = _char_set(text(args[0])) if args else "."
    return re.sub(rf"({inside})\1+", r"\1", this, flags=re.DOTALL)


@method("String", "count")
def _count(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> int:
    return len(re.findall(_char_set(text(args[0])), this))


def _char_set(spec: str) -> str:
    negated = len(spec) > 1 and spec.startswith("^")
    body = "".join(char if char == "-" else re.escape(char) for char in spec[negated:])
    return f"[{'^' if negated else ''}{body}]"


@method("String", "tr", "tr_s")
def _translate(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    source, target = text(args[0]), _expanded(text(args[1]))
    if len(source) > 1 and source.startswith("^"):
        kept = set(_expanded(source[1:]))
        return "".join(char if char in kept else target[-1:] for char in this)
    letters = _expanded(source)
    table = {
        char: target[min(at, len(target) - 1)] if target else "" for at, char in reversed(list(enumerate(letters)))
    }
    return "".join(table.get(char, char) for char in this)


def _expanded(spec: str) -> str:
    return re.sub(
        r"(.)-(.)", lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), spec, flags=re.DOTALL
    )


@method("String", "chomp")
def _chomp(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return this.removesuffix(text(args[0])) if args else re.sub(r"(?:\r\n|\n|\r)\Z", "", this)


@method("String", "delete_prefix")
def _without_prefix(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return this.removeprefix(text(args[0]))


@method("String", "delete_suffix")
def _without_suffix(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return this.removesuffix(text(args[0]))


def _pad(this: str, args: list[Any]) -> tuple[int, str]:
    return max(0, int(args[0]) - len(this)), text(args[1]) if len(args) > 1 else " "


@method("String", "ljust")
def _ljust(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    missing, fill = _pad(this, args)
    return this + (fill * missing)[:missing]


@method("String", "rjust")
def _rjust(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    missing, fill = _pad(this, args)
    return (fill * missing)[:missing] + this


@method("String", "center")
def _center(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    missing, fill = _pad(this, args)
    left = missing // 2
    return (fill * missing)[:left] + this + (fill * missing)[: missing - left]


@method("String", "split")
def _split(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> list[str]:
    limit = int(args[1]) if len(args) > 1 else 0
    if not args or args[0] is None or args[0] == " ":
        return this.split(None, limit - 1) if limit > 0 else this.split()
    if args[0] == "":
        return list(this)
    pattern = as_pattern(args[0]).compiled
    found = _split_by(pattern, this, limit)
    while limit == 0 and found and found[-1] == "":
        found.pop()
    return found


def _split_by(pattern: "re.Pattern[str]", this: str, limit: int) -> list[str]:
    found, at = list[str](), 0
    for match in pattern.finditer(this):
        if limit > 0 and len(found) >= limit - 1:
            break
        if match.end() == match.start() and match.start() in (at, len(this)):
            continue
        found.append(this[at : match.start()])
        found += [group for group in match.groups() if group is not None]
        at = match.end()
    return [*found, this[at:]] if this else []


@method("String", "sub")
def _sub(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return _replace(rendering, this, args, block, 1)


@method("String", "gsub")
def _gsub(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return _replace(rendering, this, args, block, 0)


def _replace(rendering: Rendering, this: str, args: list[Any], block: Proc | None, count: int) -> str:
    pattern = as_pattern(args[0]).compiled
    if len(args) < 2:

        def by_block(found: "re.Match[str]") -> str:
            rendering.match = found
            return shown(rendering, rendering.yield_to(block, found[0]))

        return str(pattern.sub(by_block, this, count))
    if isinstance(args[1], dict):
        table = args[1]
        return str(pattern.sub(lambda found: shown(rendering, table.get(found[0])), this, count))
    form = text(args[1])
    return str(pattern.sub(lambda found: _expanded_groups(found, form), this, count))


def _expanded_groups(found: "re.Match[str]", form: str) -> str:
    def group(mark: "re.Match[str]") -> str:
        if mark[1] is not None:
            number = int(mark[1])
            return (found[number] or "") if number <= len(found.groups()) else ""
        if mark[2] is not None:
            return found[mark[2]] or ""
        return {"\\&": found[0], "\\\\": "\\"}[mark[0]]

    return re.sub(r"\\(\d)|\\k<(\w+)>|\\&|\\\\", group, form)


@method("String", "match")
def _match(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> Any:
    rendering.match = as_pattern(args[0]).compiled.search(this)
    return rendering.match


@method("String", "match?")
def _does_match(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> bool:
    return as_pattern(args[0]).compiled.search(this) is not None


@method("String", "scan")
def _scan(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> Any:
    found: list[Any] = [
        list(match.groups()) if match.re.groups else match[0] for match in as_pattern(args[0]).compiled.finditer(this)
    ]
    if block is None:
        return found
    for item in found:
        rendering.yield_to(block, item)
    return this


@method("String", "each_line")
def _each_line(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> Any:
    lines = this.splitlines(keepends=True)
    if block is None:
        return lines
    for line in lines:
        rendering.yield_to(block, line)
    return this


@method("String", "each_char")
def _each_char(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> Any:
    if block is None:
        return list(this)
    for char in this:
        rendering.yield_to(block, char)
    return this


@method("String", "insert")
def _insert(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    at = int(args[0]) + (len(this) + 1 if args[0] < 0 else 0)
    return this[:at] + text(args[1]) + this[at:]


@method("String", "prepend")
def _prepend(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return "".join(map(text, args)) + this


@method("String", "replace")
def _whole(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> str:
    return text(args[0])


@method("String", "partition")
def _partition(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> list[str]:
    found = as_pattern(args[0]).compiled.search(this)
    return [this, "", ""] if found is None else [this[: found.start()], found[0], this[found.end() :]]


@method("String", "casecmp")
def _casecmp(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> int:
    left, right = this.lower(), text(args[0]).lower()
    return (left > right) - (left < right)


@method("String", "casecmp?")
def _same_letters(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> bool:
    return this.casefold() == text(args[0]).casefold()


@method("String", "upto")
def _upto(rendering: Rendering, this: str, args: list[Any], block: Proc | None) -> Any:
    items = range_items(Range(this, text(args[0]), False))
    if block is None:
        return items
    for item in items:
        rendering.yield_to(block, item)
    return this


# A match: [], captures, pre_match and their kin. It has no class of ours, so its methods stand with Object.


@method("Object", "captures")
def _captures(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> list[Any]:
    return list(this.groups())


@method("Object", "pre_match")
def _before(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> str:
    return str(this.string[: this.start()])


@method("Object", "post_match")
def _after(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> str:
    return str(this.string[this.end() :])


@method("Object", "[]")
def _group(rendering: Rendering, this: Any, args: list[Any], block: Proc | None) -> Any:
    if not isinstance(this, re.Match):
        raise no_method(this, "[]")
    wanted = args[0].name if isinstance(args[0], Symbol) else args[0]
    return this[wanted] if not isinstance(wanted, int) or wanted <= len(this.groups()) else None


def _declare_for_symbols() -> None:
    """What a symbol does as its name does."""
    for name in ("length", "size", "upcase", "downcase", "capitalize", "empty?", "start_with?", "end_with?", "[]"):
        METHODS.setdefault("Symbol", {})[name] = _by_name(METHODS["String"][name])


def _by_name(made: Any) -> Any:
    return lambda rendering, this, args, block: _as_symbol(made(rendering, this.name, args, block))


def _as_symbol(value: Any) -> Any:
    return Symbol(value) if isinstance(value, str) else value


_declare_for_symbols()


@method("Symbol", "to_proc")
def _to_proc(rendering: Rendering, this: Symbol, args: list[Any], block: Proc | None) -> Proc:
    return Proc(1, lambda item, *more: call_method(rendering, item, this.name, list(more), None))
