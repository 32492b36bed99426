"""Texts that people give and other people read: short, and nothing in them that a terminal obeys or a database refuses."""

from precast.services import issues

MAX_CHARS = 500


def check(what: str, text: str) -> None:
    """Raises InputError AUTH-002 if it is too long, AUTH-005 if it holds a control character."""
    if len(text) > MAX_CHARS:
        raise issues.BAD_VALUE.error(what=f"the length of {what}", least=0, most=MAX_CHARS)
    if not text.isprintable():
        raise issues.UNPRINTABLE.error(what=what)
