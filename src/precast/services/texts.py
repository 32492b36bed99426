"""Checks texts that people enter and other people read: they are short, and contain no control characters."""

from precast.services.issues import BAD_VALUE, UNPRINTABLE

MAX_CHARS = 500


def check(what: str, text: str) -> None:
    """Raises InputError AUTH-002 if the text is too long, AUTH-005 if it contains a control character."""
    if len(text) > MAX_CHARS:
        raise BAD_VALUE.error(what=f"the length of {what}", least=0, most=MAX_CHARS)
    if not text.isprintable():
        raise UNPRINTABLE.error(what=what)
