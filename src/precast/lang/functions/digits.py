"""Integers from digits of a text, which may be longer than Python, or anybody, would read."""

from precast.lang.functions import issues

MOST = 1_000


def integer(text: str, base: int = 10) -> int:
    """The integer that a text is known to write. Raises LANG-465 for one that is longer than any number needs."""
    if len(text) > MOST:
        raise issues.TOO_MANY_DIGITS.error(count=len(text), most=MOST)
    return int(text, base)
