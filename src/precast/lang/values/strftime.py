"""Formats timestamps and timespans with Ruby's directives, flags and widths."""

import re
from collections.abc import Callable
from typing import Final

from precast.lang.issues import types as issues
from precast.lang.values.times import DAY, HOUR, MINUTE, NS, Timespan, Timestamp
from precast.lang.values.zones import offset_seconds

DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DIRECTIVE: Final = re.compile(r"%([-0^#_:]*)(\d*)([A-Za-z%])")


class _ZonedTime:
    """A timestamp in a time zone, with the fields that directives need."""

    def __init__(self, stamp: Timestamp, zone: str | None) -> None:
        self.stamp = stamp
        self.offset = 0 if zone is None else offset_seconds(zone)
        self.zone = "UTC" if zone is None else ""
        self.time, self.year = stamp.calendar_time(self.offset)
        self.iso = self.time.isocalendar()
        self.iso_year = self.iso.year + self.year - self.time.year

    @property
    def hour12(self) -> int:
        return self.time.hour % 12 or 12

    def week(self, first: int) -> int:
        """The week of the year, counted from the first Sunday (0) or Monday (1)."""
        weekday = (self.time.weekday() + 1 - first) % 7
        return (self.time.timetuple().tm_yday + 6 - weekday) // 7


# Directive: default width, padding, and the number.
_NUMBERS: Final[dict[str, tuple[int, str, Callable[[_ZonedTime], int]]]] = {
    "Y": (4, "0", lambda m: m.year),
    "C": (2, "0", lambda m: m.year // 100),
    "y": (2, "0", lambda m: m.year % 100),
    "m": (2, "0", lambda m: m.time.month),
    "d": (2, "0", lambda m: m.time.day),
    "e": (2, " ", lambda m: m.time.day),
    "j": (3, "0", lambda m: m.time.timetuple().tm_yday),
    "H": (2, "0", lambda m: m.time.hour),
    "k": (2, " ", lambda m: m.time.hour),
    "I": (2, "0", lambda m: m.hour12),
    "l": (2, " ", lambda m: m.hour12),
    "M": (2, "0", lambda m: m.time.minute),
    "S": (2, "0", lambda m: m.time.second),
    "u": (1, "0", lambda m: m.time.isoweekday()),
    "w": (1, "0", lambda m: m.time.isoweekday() % 7),
    "G": (4, "0", lambda m: m.iso_year),
    "g": (2, "0", lambda m: m.iso_year % 100),
    "V": (2, "0", lambda m: m.iso.week),
    "U": (2, "0", lambda m: m.week(0)),
    "W": (2, "0", lambda m: m.week(1)),
    "s": (1, "0", lambda m: m.stamp.ns // NS),
}
_TEXTS: Final[dict[str, Callable[[_ZonedTime], str]]] = {
    "B": lambda m: MONTHS[m.time.month - 1],
    "b": lambda m: MONTHS[m.time.month - 1][:3],
    "h": lambda m: MONTHS[m.time.month - 1][:3],
    "A": lambda m: DAYS[m.time.weekday()],
    "a": lambda m: DAYS[m.time.weekday()][:3],
    "p": lambda m: "AM" if m.time.hour < 12 else "PM",
    "P": lambda m: "am" if m.time.hour < 12 else "pm",
    "Z": lambda m: m.zone,
    "n": lambda m: "\n",
    "t": lambda m: "\t",
    "%": lambda m: "%",
}
COMBINED: Final = {
    "c": "%a %b %e %H:%M:%S %Y", "D": "%m/%d/%y", "F": "%Y-%m-%d", "v": "%e-%^b-%Y", "x": "%m/%d/%y", "X": "%H:%M:%S",
    "r": "%I:%M:%S %p", "R": "%H:%M", "T": "%H:%M:%S",
}  # fmt: skip


def format_timestamp(stamp: Timestamp, text: str, zone: str | None = None) -> str:
    """Format a timestamp; text that is not a directive stays as it is. Raises LANG-250 for an unknown zone."""
    zoned = _ZonedTime(stamp, zone)

    def fill(directive: re.Match[str]) -> str:
        flags, width, letter = directive[1], _width(directive[2], text), directive[3]
        if ":" in flags and letter != "z":
            return directive[0]
        if letter in _NUMBERS:
            default, padding, number = _NUMBERS[letter]
            return _padded(str(number(zoned)), flags, width or default, padding)
        if letter in _TEXTS:
            return _filled(_cased(_TEXTS[letter](zoned), flags, letter), flags, width)
        if letter in COMBINED:
            inner = _DIRECTIVE.sub(fill, COMBINED[letter])
            return _filled(_cased(inner, flags, ""), flags, width)
        if letter in "LN":
            digits = width or (3 if letter == "L" else 9)
            return f"{stamp.ns % NS:09d}".ljust(digits, "0")[:digits]
        return _offset(zoned.offset, flags, width) if letter == "z" else directive[0]

    return _DIRECTIVE.sub(fill, text)


MAX_WIDTH: Final = 10_000


def _width(digits: str, text: str) -> int:
    if len(digits) > 5 or int(digits or 0) > MAX_WIDTH:
        raise issues.TOO_WIDE.error(format=text, limit=MAX_WIDTH)
    return int(digits or 0)


def _filled(text: str, flags: str, width: int) -> str:
    return text if "-" in flags else text.rjust(width, "0" if "0" in flags else " ")


def _padded(text: str, flags: str, width: int, padding: str) -> str:
    if "-" in flags:
        return text
    fill = " " if "_" in flags else "0" if "0" in flags else padding
    return text.rjust(width, fill)


def _cased(text: str, flags: str, letter: str) -> str:
    if "^" in flags:
        return text.upper()
    if "#" in flags:
        return text.lower() if letter in ("p", "Z") else text.upper()
    return text


def _offset(seconds: int, flags: str, width: int) -> str:
    sign, rest = "-" if seconds < 0 else "+", abs(seconds)
    colons = flags.count(":")
    mark = ":" if colons else ""
    text = f"{rest // 3600:02d}{mark}{rest // 60 % 60:02d}"
    if colons == 2:
        text += f":{rest % 60:02d}"
    return sign + text.rjust(width - 1, "0")


_SPAN_DIRECTIVE: Final = re.compile(r"%([-_0]?)(\d*)([DHMSLN%])|%(.?)", re.DOTALL)
# The nanoseconds of a unit, how many of them make the next larger unit (None for days, the largest), and the default width.
_UNITS: Final = {
    "D": (DAY, None, 1),
    "H": (HOUR, 24, 2),
    "M": (MINUTE, 60, 2),
    "S": (NS, 60, 2),
    "L": (1_000_000, 1000, 3),
    "N": (1, NS, 9),
}


_ORDER: Final = "".join(_UNITS)


def format_timespan(span: Timespan, text: str) -> str:
    """Format a timespan. The first occurrence of the largest unit includes the units above it, which the format omits."""
    units = [directive for directive in _SPAN_DIRECTIVE.finditer(text) if directive[3] and directive[3] != "%"]
    largest = min(units, key=lambda directive: _ORDER.index(directive[3])).start() if units else -1
    ns = abs(span.ns)

    def fill(directive: re.Match[str]) -> str:
        letter = directive[3]
        if letter is None:
            raise issues.BAD_SPAN_FORMAT.error(format=text, at=directive.start())
        if letter == "%":
            return "%"
        unit, limit, default = _UNITS[letter]
        width = _width(directive[2], text)
        is_largest = directive.start() == largest
        if letter == "N" and width:
            unit *= 10 ** max(9 - width, 0)
        count = ns // unit if is_largest or limit is None else ns % NS // unit if letter in "LN" else ns // unit % limit
        return (
            _fraction(count, directive[1], width or default)
            if letter in "LN"
            else _padded(str(count), directive[1], width or default, "0")
        )

    filled = _SPAN_DIRECTIVE.sub(fill, text)
    return f"-{filled}" if span.ns < 0 else filled


def _fraction(count: int, flags: str, width: int) -> str:
    """A fraction is aligned to the left; without zero padding its trailing zeros are dropped."""
    if flags in ("-", "_"):
        count = int(str(count).rstrip("0") or "0")
    return str(count) if flags == "-" else str(count).ljust(width)
