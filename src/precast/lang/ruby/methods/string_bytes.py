"""Methods of String about bytes, encodings and quoting, and changes of a part. Every text is UTF-8 here."""

import re
import unicodedata
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import method, to_str
from precast.lang.ruby.methods.objects import as_pattern
from precast.lang.ruby.methods.strings import slice_bounds
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.puppet_text import ruby_inspect
from precast.lang.ruby.values import Pattern, Range

Args = list[Any]


@method("String", "dump")
def _dump(execution: Execution, this: str, args: Args, block: Proc | None) -> str:
    return "".join(char if char.isascii() else _escape(char) for char in ruby_inspect(this))


def _escape(char: str) -> str:
    number = ord(char)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\u{{{number:X}}}"


@method("String", "undump")
def _undump(execution: Execution, this: str, args: Args, block: Proc | None) -> str:
    text = this[1:-1]
    text = re.sub(r"\\u\{?([0-9A-Fa-f]+)\}?", lambda match: chr(int(match[1], 16)), text)
    named = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b"}
    return re.sub(r"\\(.)", lambda match: named.get(match[1], match[1]), text)


@method("String", "-@", "+@", "b", "scrub", "encode", "force_encoding")
def _itself(execution: Execution, this: str, args: Args, block: Proc | None) -> str:
    return this


@method("String", "unicode_normalize")
def _normalize(execution: Execution, this: str, args: Args, block: Proc | None) -> str:
    return unicodedata.normalize("NFC", this)


@method("String", "encoding")
def _encoding(execution: Execution, this: str, args: Args, block: Proc | None) -> Constant:
    return Constant("Encoding::UTF_8")


@method("String", "valid_encoding?", "unicode_normalized?")
def _is_valid(execution: Execution, this: str, args: Args, block: Proc | None) -> bool:
    return not any(0xDC80 <= ord(char) <= 0xDCFF for char in this)


@method("String", "byteslice")
def _byteslice(execution: Execution, this: str, args: Args, block: Proc | None) -> str | None:
    data = this.encode("utf-8", "surrogateescape")
    if isinstance(args[0], Range):
        start, stop = slice_bounds(args[0], len(data))
    else:
        start = int(args[0]) + (len(data) if args[0] < 0 else 0)
        stop = start + (int(args[1]) if len(args) > 1 else 1)
    return data[start:stop].decode("utf-8", "surrogateescape") if 0 <= start <= len(data) else None


@method("String", "getbyte")
def _getbyte(execution: Execution, this: str, args: Args, block: Proc | None) -> int | None:
    data = this.encode("utf-8", "surrogateescape")
    return data[args[0]] if -len(data) <= args[0] < len(data) else None


@method("String", "each_byte")
def _each_byte(execution: Execution, this: str, args: Args, block: Proc | None) -> Any:
    data = list(this.encode("utf-8", "surrogateescape"))
    if block is None:
        return data
    for byte in data:
        execution.yield_to(block, byte)
    return this


@method("String", "codepoints", "each_codepoint")
def _codepoints(execution: Execution, this: str, args: Args, block: Proc | None) -> list[int]:
    return [ord(char) for char in this]


@method("String", "grapheme_clusters")
def _clusters(execution: Execution, this: str, args: Args, block: Proc | None) -> list[str]:
    return list(this)


@method("String", "sum")
def _sum(execution: Execution, this: str, args: Args, block: Proc | None) -> int:
    return sum(this.encode("utf-8", "surrogateescape")) % 65536


@method("String", "rpartition")
def _rpartition(execution: Execution, this: str, args: Args, block: Proc | None) -> list[str]:
    if isinstance(args[0], Pattern):
        found = list(as_pattern(args[0]).compiled.finditer(this))
        if not found:
            return ["", "", this]
        return [this[: found[-1].start()], found[-1][0], this[found[-1].end() :]]
    head, separator, tail = this.rpartition(to_str(args[0]))
    return [head, separator, tail]


@method("String", "with_part")
def _with_part(execution: Execution, this: str, args: Args, block: Proc | None) -> str:
    """Return the string after `string[place] = part`."""
    *place, part = args
    first = place[0]
    if isinstance(first, str):
        if first not in this:
            raise IndexError("string not matched")
        return this.replace(first, to_str(part), 1)
    if isinstance(first, Pattern):
        match = first.compiled.search(this)
        if match is None:
            raise IndexError("regexp not matched")
        group = place[1] if len(place) > 1 else 0
        return this[: match.start(group)] + to_str(part) + this[match.end(group) :]
    if isinstance(first, Range):
        start, stop = slice_bounds(first, len(this))
    else:
        start = int(first) + (len(this) if first < 0 else 0)
        stop = start + (int(place[1]) if len(place) > 1 else 1)
    return this[:start] + to_str(part) + this[stop:]
