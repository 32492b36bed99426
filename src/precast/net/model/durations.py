"""Durations as people write them (`1m30s`, `1.5s`, `250ms`), stored as whole milliseconds so that sums are exact."""

import re
from fractions import Fraction

_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_PART = r"\d+(?:\.\d+)?(?:h|ms|m|s)"
_FORM = re.compile(f"(?:{_PART})+")
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")


def parse_duration(text: str) -> int | None:
    """Milliseconds, or None if the text is not a duration or not a whole number of milliseconds."""
    if len(text) > 40 or not _FORM.fullmatch(text):
        return None
    total = sum(Fraction(number) * _UNITS[unit] for number, unit in _PARTS.findall(text))
    return int(total) if total.denominator == 1 else None


def format_duration(duration_ms: int) -> str:
    """The shortest usual form; `parse_duration` reads it back."""
    if duration_ms < 1000:
        return f"{duration_ms}ms" if duration_ms else "0s"
    minutes, rest_ms = divmod(duration_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest_ms / 1000:.3f}".rstrip("0").rstrip(".")
    parts = [(f"{hours}h", hours), (f"{minutes}m", minutes), (f"{seconds}s", rest_ms)]
    return "".join(text for text, value in parts if value)
