"""Ruby's sprintf, which Puppet's function of that name calls.

A format takes arguments in order, by number (`%1$s`) or by name (`%<x>d`, `%{x}`), but does not mix these. Negative numbers in other
bases than ten are written as two's complement with dots, unless the format asks for a sign. Conversions are Ruby's: '0x1F' is a
number, 'x' is an error.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from precast.lang.issues import functions as issues
from precast.lang.ruby.legacy_values import legacy_text
from precast.lang.ruby.puppet_text import ruby_inspect, ruby_text
from precast.lang.values.base import Hash, float_text, kind_name

_PIECE: Final = re.compile(
    r"%(?P<flags>(?:[-+ 0#]|\d+\$|<[^>]*>|\*(?:\d+\$)?|\d+|\.(?:\d+|\*(?:\d+\$)?)?)*)(?P<kind>\{[^}]*\}|[a-zA-Z%\n\0]?)",
    re.DOTALL,
)
_FLAG: Final = re.compile(
    r"(?P<number>\d+)\$|<(?P<name>[^>]*)>|(?P<precision>\.(?:\d+|\*(?:\d+\$)?)?)|(?P<width>\*(?:\d+\$)?|[1-9]\d*)|(?P<sign>[-+ 0#])"
)
_MAX_WIDTH: Final = 1_000_000
_MAX_WIDTH_DIGITS: Final = 9  # further digits only make the width too big
_BASES: Final = {"d": 10, "i": 10, "u": 10, "x": 16, "X": 16, "o": 8, "b": 2, "B": 2}
_PREFIXES: Final = {"x": "0x", "X": "0X", "o": "0", "b": "0b", "B": "0B"}
_INTEGER: Final = re.compile(r"([+-]?)(0[xX]|0[bB]|0[oO]?|)([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)")
_FLOAT: Final = re.compile(r"[+-]?\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+)?")


class _Arguments:
    """Returns arguments in order, by number or by name; a format uses one of these styles."""

    def __init__(self, given: Sequence[Any]) -> None:
        self.given = given
        self.next = 0
        self.style = ""

    def _use(self, style: str) -> None:
        if self.style and self.style != style:
            raise issues.BAD_FORMAT.error(reason=f"{style} arguments mixed with {self.style}")
        self.style = style

    def in_order(self) -> Any:
        self._use("unnumbered")
        self.next += 1
        return self._at(self.next)

    def at(self, number: int) -> Any:
        self._use("numbered")
        return self._at(number)

    def _at(self, number: int) -> Any:
        if not 1 <= number <= len(self.given):
            raise issues.BAD_FORMAT.error(reason="too few arguments")
        return self.given[number - 1]

    def named(self, name: str, shown: str) -> Any:
        self._use("named")
        if len(self.given) != 1 or not isinstance(self.given[0], Hash):
            raise issues.BAD_FORMAT.error(reason="one hash required")
        if name not in self.given[0]:
            raise issues.BAD_FORMAT.error(reason=f"key{shown} not found")
        return self.given[0][name]


class _Directive:
    """One `%…` of a format with its flags."""

    def __init__(self, flags: str, arguments: _Arguments) -> None:
        self.flags = ""
        self.width: int | None = None
        self.precision: int | None = None
        self._value: Callable[[], Any] = arguments.in_order
        for match in _FLAG.finditer(flags):
            if match["number"] is not None:
                number = int(match["number"])
                self._value = lambda number=number: arguments.at(number)  # type: ignore[misc]
            elif match["name"] is not None:
                name = match["name"]
                self._value = lambda name=name: arguments.named(name, f"<{name}>")  # type: ignore[misc]
            elif match["precision"] is not None:
                self.precision = self._count(match["precision"][1:] or "0", arguments)
            elif match["width"] is not None:
                self._set_width(self._count(match["width"], arguments))
            else:
                self.flags += match["sign"]

    def _set_width(self, width: int) -> None:
        if width < 0:
            self.flags += "-"
        self.width = abs(width)

    @staticmethod
    def _count(text: str, arguments: _Arguments) -> int:
        if text[0] != "*":
            count = int(text[:_MAX_WIDTH_DIGITS])
        else:
            count = to_integer(arguments.at(int(text[1:-1])) if text[1:] else arguments.in_order())
        if abs(count) > _MAX_WIDTH:
            raise issues.BAD_FORMAT.error(reason="width too big")
        return count

    def value(self) -> Any:
        return self._value()

    def pad(self, text: str) -> str:
        if self.width is None:
            return text
        return text.ljust(self.width) if "-" in self.flags else text.rjust(self.width)

    def format_number(self, sign: str, digits: str) -> str:
        """Return a number from its sign (or prefix) and digits, filled with zeros if the flags ask for it."""
        if "0" in self.flags and "-" not in self.flags and self.width is not None:
            digits = digits.rjust(self.width - len(sign), "0")
        return self.pad(sign + digits)

    def sign_of(self, negative: bool) -> str:
        return "-" if negative else "+" if "+" in self.flags else " " if " " in self.flags else ""


def sprintf(form: str, given: Sequence[Any]) -> str:
    """Return the format with its arguments filled in. Raises LANG-460 for an invalid format or argument."""
    arguments = _Arguments(given)
    out: list[str] = []
    at = 0
    while (start := form.find("%", at)) >= 0:
        out.append(form[at:start])
        match = _PIECE.match(form, start)
        assert match is not None
        at = match.end()
        out.append(_format_directive(match["flags"], match["kind"], arguments))
    return "".join(out) + form[at:]


def _format_directive(flags: str, kind: str, arguments: _Arguments) -> str:
    if kind in ("%", "\n", "\0"):
        if flags and kind == "%":
            raise issues.BAD_FORMAT.error(reason="invalid format character - %")
        return "%" if kind == "%" else "%" + kind
    if not kind:
        raise issues.BAD_FORMAT.error(reason="incomplete format specifier; use %% (double %) instead")
    directive = _Directive(flags, arguments)
    if kind[0] == "{":
        text = ruby_text(arguments.named(kind[1:-1], kind))
        return directive.pad(text if directive.precision is None else text[: directive.precision])
    write = _WRITERS.get(kind)
    if write is None:
        raise issues.BAD_FORMAT.error(reason=f"malformed format string - %{kind}")
    return write(directive, directive.value(), kind)


def _write_text(directive: _Directive, value: Any, kind: str) -> str:
    text = _inspect(value) if kind == "p" else legacy_text(value)
    return directive.pad(text if directive.precision is None else text[: directive.precision])


def _inspect(value: Any) -> str:
    return '""' if value is None else ruby_inspect(value)


def _write_character(directive: _Directive, value: Any, kind: str) -> str:
    if isinstance(value, str):
        if len(value) != 1:
            raise issues.BAD_FORMAT.error(reason="%c requires a character")
        return directive.pad(value)
    number = to_integer(value)
    if not 0 <= number < 0x110000:
        raise issues.BAD_FORMAT.error(reason=f"{number} is no character")
    return directive.pad(chr(number))


def _write_integer(directive: _Directive, value: Any, kind: str) -> str:
    number, base = to_integer(value), _BASES[kind]
    prefix = _PREFIXES.get(kind, "") if "#" in directive.flags and number != 0 else ""
    is_signed = base == 10 or any(flag in directive.flags for flag in "+ ")
    if number < 0 and not is_signed:
        return _complement(directive, number, base, "" if base == 8 else prefix, kind)
    digits = in_base(abs(number), base)
    if directive.precision is not None:
        digits = digits.rjust(directive.precision, "0")
    if kind in "XB":
        digits = digits.upper()
    return directive.format_number(directive.sign_of(number < 0) + prefix, digits)


def _complement(directive: _Directive, number: int, base: int, prefix: str, kind: str) -> str:
    """Return a negative number in two's complement; two dots stand for its endless leading digits."""
    top = {16: "f", 8: "7", 2: "1"}[base]
    bits = {16: 4, 8: 3, 2: 1}[base]
    places = max(1, -(-(number.bit_length() + 1) // bits))
    digits = in_base(number % (1 << (places * bits)), base).lstrip(top)
    digits = top + digits if not digits or digits[0] != top else digits
    if kind == "X":
        digits, top = digits.upper(), "F"
    if directive.precision is not None:
        return directive.pad(prefix + digits.rjust(directive.precision, top))
    if "0" in directive.flags and directive.width is not None and "-" not in directive.flags:
        return prefix + digits.rjust(directive.width - len(prefix), top)
    return directive.pad(f"{prefix}..{digits}")


def in_base(number: int, base: int) -> str:
    """Return the digits of a number that is not negative."""
    return format(number, {16: "x", 8: "o", 2: "b", 10: "d"}[base])


def _write_float(directive: _Directive, value: Any, kind: str) -> str:
    number = to_float(value)
    if number != number or number in (float("inf"), float("-inf")):
        sign, text = directive.sign_of(number < 0), "NaN" if number != number else "Inf"
        return directive.pad(sign + text)
    negative = float_text(number).startswith("-")
    if kind in "aA":
        text = _hexadecimal(abs(number))
        text = text.upper() if kind == "A" else text
    else:
        precision = "" if directive.precision is None else f".{directive.precision}"
        text = format(abs(number), f"{'#' if '#' in directive.flags else ''}{precision}{kind}")
    return directive.format_number(directive.sign_of(negative), text)


def _hexadecimal(number: float) -> str:
    mantissa, _, exponent = number.hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}{'.' + fraction if fraction else ''}p{exponent}"


def to_integer(value: Any) -> int:
    """Return Ruby's Integer(value): whole numbers, and strings that write one in any of Ruby's notations."""
    if isinstance(value, bool):
        raise issues.BAD_FORMAT.error(reason=f"can't convert {'true' if value else 'false'} into Integer")
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise issues.BAD_FORMAT.error(reason=float_text(value))
        return int(value // 1) if value >= 0 else -int(-value // 1)
    text = "" if value is None else value
    if isinstance(text, tuple | Hash):
        raise issues.BAD_FORMAT.error(reason=f"can't convert {kind_name(text)} into Integer")
    text = ruby_text(text)
    match = _INTEGER.fullmatch(text.strip())
    if match is not None:
        base = {"0x": 16, "0b": 2, "0o": 8, "0": 8}.get(match[2].lower(), 10)
        try:
            return int(match[1] + match[3].replace("_", ""), base)
        except ValueError:
            pass
        if text.strip() in ("0", "+0", "-0"):
            return 0
    elif text.strip() in ("0", "+0", "-0"):
        return 0
    raise issues.BAD_FORMAT.error(reason=f"invalid value for Integer(): {ruby_inspect(text)}")


def to_float(value: Any) -> float:
    """Return Ruby's Float(value)."""
    if isinstance(value, bool):
        raise issues.BAD_FORMAT.error(reason=f"can't convert {'true' if value else 'false'} into Float")
    if isinstance(value, int | float):
        return float(value)
    text = ruby_text("" if value is None else value).strip()
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if re.fullmatch(r"[+-]?0[xX][0-9a-fA-F]+", text):
        return float(int(text, 16))
    raise issues.BAD_FORMAT.error(reason=f"invalid value for Float(): {ruby_inspect(ruby_text(value))}")


_WRITERS: Final[dict[str, Callable[[_Directive, Any, str], str]]] = {
    **dict.fromkeys("sp", _write_text),
    "c": _write_character,
    **dict.fromkeys(_BASES, _write_integer),
    **dict.fromkeys("eEfgGaA", _write_float),
}
