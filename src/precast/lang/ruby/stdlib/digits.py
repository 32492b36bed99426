"""Converts digits to an integer, with a limit on their number: Python's conversion takes quadratic time."""

from precast.lang.issues import functions as issues

MAX_DIGITS = 1_000


def integer(text: str, base: int = 10) -> int:
    """Return the integer of a text that consists of digits. Raises LANG-465 for more digits than the limit."""
    if len(text) > MAX_DIGITS:
        raise issues.TOO_MANY_DIGITS.error(count=len(text), most=MAX_DIGITS)
    return int(text, base)
