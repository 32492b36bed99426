"""Parses timestamps and timespans with formats. The default formats are Puppet's."""

import datetime
import functools
import re
from collections.abc import Sequence
from typing import Final

from precast.lang.issues import types as issues
from precast.lang.values.strftime import COMBINED, DAYS, MONTHS
from precast.lang.values.times import CYCLE_S, DAY, HOUR, MINUTE, NS, Timespan, Timestamp
from precast.lang.values.zones import ZONE, offset_seconds

TIMESTAMP_FORMATS: Final = (
    "%FT%T.%N %Z", "%FT%T %Z", "%F %T.%N %Z", "%F %T %Z", "%F %Z", "%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F",
)  # fmt: skip
TIMESPAN_FORMATS: Final = (
    "%D-%H:%M:%S.%-N", "%H:%M:%S.%-N", "%M:%S.%-N", "%S.%-N", "%D-%H:%M:%S", "%H:%M:%S", "%D-%H:%M", "%S",
)  # fmt: skip
_MONTH_NUMBERS: Final = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
_NAMES: Final = {"B": MONTHS, "b": MONTHS, "h": MONTHS, "A": DAYS, "a": DAYS}
_DIRECTIVE: Final = re.compile(r"%[-0^#_:]*\d*([A-Za-z%])")
_PIECES: Final = {
    "Y": r"[+-]?\d{1,4}", "C": r"\d{1,2}", "y": r"\d{1,2}", "m": "1[0-2]|0?[1-9]", "d": r"3[01]|[12]\d|[ 0]?[1-9]",
    "e": r"3[01]|[12]\d|[ 0]?[1-9]", "j": r"\d{1,3}", "H": r"2[0-4]|[01]\d|[ ]?\d", "k": r"2[0-4]|[01]\d|[ ]?\d",
    "I": r"1[0-2]|[ 0]?\d", "l": r"1[0-2]|[ 0]?\d", "M": r"[0-5]?\d", "S": r"60|[0-5]?\d", "L": r"\d{1,3}", "N": r"\d+",
    "p": "[AaPp][Mm]", "P": "[AaPp][Mm]", "z": ZONE, "Z": ZONE, "s": r"-?\d+", "u": "[1-7]", "w": "[0-6]", "n": r"\s+", "t": r"\s+",
    "G": r"\d{4}", "g": r"\d{2}", "V": r"\d{1,2}", "U": r"\d{1,2}", "W": r"\d{1,2}",
}  # fmt: skip


@functools.lru_cache(maxsize=256)
def _matcher(text: str) -> tuple[re.Pattern[str], str]:
    """A pattern for a format, and the letters of its groups. White space in a format matches any white space."""
    letters: list[str] = []
    return re.compile(_pattern(text, letters)), "".join(letters)


def _pattern(text: str, letters: list[str]) -> str:
    out: list[str] = []
    end = 0
    for directive in _DIRECTIVE.finditer(text):
        out.append(_plain(text[end : directive.start()]))
        end = directive.end()
        letter = directive[1]
        if letter == "%":
            out.append("%")
        elif letter in COMBINED:
            out.append(_pattern(COMBINED[letter], letters))
        elif letter in _NAMES:
            names = sorted({n for name in _NAMES[letter] for n in (name, name[:3])}, key=len, reverse=True)
            out.append(f"((?i:{'|'.join(names)}))")
            letters.append(letter)
        elif letter in _PIECES:
            out.append(f"({_PIECES[letter]})")
            letters.append(letter)
        else:
            out.append(re.escape(directive[0]))
    return "".join([*out, _plain(text[end:])])


def _plain(text: str) -> str:
    return re.sub(r"(?:\\ |\\\n|\\\t)+", lambda _: r"\\s*", re.escape(text)).replace("\\\\s", "\\s")


def parse_timestamp(text: str, formats: Sequence[str] = TIMESTAMP_FORMATS, zone: str | None = None) -> Timestamp:
    """Parse a timestamp with the first format that matches. Raises LANG-251."""
    for format_text in formats:
        pattern, letters = _matcher(format_text)
        if zone is not None and ("Z" in letters or "z" in letters):
            if formats is TIMESTAMP_FORMATS:
                continue
            raise issues.TWO_ZONES.error()
        match = pattern.fullmatch(text)
        if match is not None:
            return _timestamp(dict(zip(letters, match.groups(), strict=True)), zone)
    raise issues.UNPARSABLE_TIME.error(text=text, formats=", ".join(formats))


def _timestamp(fields: dict[str, str], zone: str | None) -> Timestamp:
    year = int(fields["Y"]) if "Y" in fields else _short_year(fields)
    month = int(fields["m"]) if "m" in fields else 1
    for letter in "Bbh":
        if letter in fields:
            month = _MONTH_NUMBERS[fields[letter][:3].lower()]
    day = int(fields.get("d") or fields.get("e") or 1)
    # Python's calendar has no year 0 and none after 9999, but calendars repeat every 400 years.
    cycles, year = divmod(year - 2000, 400)
    # A day past the end of the month belongs to the next month.
    first = datetime.datetime(2000 + year, month, 1, tzinfo=datetime.UTC)
    seconds = cycles * CYCLE_S + int(first.timestamp()) + (day - 1) * 86400 + _hour(fields) * 3600
    seconds += int(fields.get("M", 0)) * 60 + int(fields.get("S", 0))
    fraction = fields.get("N") or fields.get("L") or "0"
    named = fields.get("Z") or fields.get("z") or zone
    offset = 0 if named is None else offset_seconds(named)
    return Timestamp((seconds - offset) * NS + int(fraction[:9].ljust(9, "0")))


def _short_year(fields: dict[str, str]) -> int:
    if "y" not in fields:
        raise issues.NO_YEAR.error()
    year = int(fields["y"])
    return int(fields["C"]) * 100 + year if "C" in fields else year + (1900 if year >= 69 else 2000)


def _hour(fields: dict[str, str]) -> int:
    if "H" in fields or "k" in fields:
        return int(fields.get("H") or fields["k"])
    hour = int(fields.get("I") or fields.get("l") or 0)
    half = (fields.get("p") or fields.get("P") or "").lower()
    if not half:
        return hour
    return hour % 12 + (12 if half == "pm" else 0)


_MAX_CHARACTERS: Final = 1000  # Python refuses numbers of thousands of digits
_SPAN_UNITS: Final = {"D": DAY, "H": HOUR, "M": MINUTE, "S": NS}
_SPAN_DIRECTIVE: Final = re.compile(r"%([-_0]?)(\d*)([DHMSLN%])|%(.?)", re.DOTALL)


@functools.lru_cache(maxsize=256)
def _span_matcher(text: str) -> tuple[re.Pattern[str], str]:
    """A pattern for a timespan's format. Only its largest unit may have more digits than usual."""
    letters = [directive[3] for directive in _SPAN_DIRECTIVE.finditer(text) if directive[3] and directive[3] != "%"]
    largest = next((letter for letter in "DHMSLN" if letter in letters), None)
    if largest in ("L", "N"):
        raise issues.ONLY_FRACTIONS.error(format=text)
    out: list[str] = []
    end = 0
    for directive in _SPAN_DIRECTIVE.finditer(text):
        out.append(re.escape(text[end : directive.start()]))
        end = directive.end()
        letter = directive[3]
        if letter is None:
            raise issues.BAD_SPAN_FORMAT.error(format=text, at=directive.start())
        if letter == "%":
            out.append("%")
        elif letter == largest or letter in "LN":
            out.append(r"( *[0-9]+)" if directive[1] == "_" else "([0-9]+)")
        else:
            out.append(r"( *[0-9]{1,2})" if directive[1] == "_" else "([0-9]{1,2})")
    pattern = "".join([*out, re.escape(text[end:])])
    return re.compile(f"(-)?{pattern}"), "".join(letters)


def parse_timespan(text: str, formats: Sequence[str] = TIMESPAN_FORMATS) -> Timespan:
    """Parse a timespan with the first format that matches. Raises LANG-251."""
    for format_text in formats:
        pattern, letters = _span_matcher(format_text)
        match = pattern.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
        if match is not None:
            ns = sum(_span_part(letter, digits) for letter, digits in zip(letters, match.groups()[1:], strict=True))
            return Timespan(-ns if match[1] else ns)
    raise issues.UNPARSABLE_TIME.error(text=text, formats=", ".join(formats))


def _span_part(letter: str, digits: str) -> int:
    if letter in _SPAN_UNITS:
        return int(digits) * _SPAN_UNITS[letter]
    return int(digits[:9].ljust(9, "0"))
