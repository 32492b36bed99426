"""Reads of a trace in words, for people who ask why."""

from typing import Any

import msgspec

from precast.services.tracing.chains import Link
from precast.wire.catalogs import ReadView

SHOWN_CHARS = 120


def read_view(link: Link) -> ReadView:
    """A question with its answer; long ones are cut."""
    fields: dict[str, Any] = msgspec.to_builtins(link.question)
    kind = fields.pop("ask")
    about = " ".join(_words(value) for value in fields.values())
    return ReadView(kind, about, "absent" if link.answer is msgspec.UNSET else _words(link.answer))


def _words(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | list) for item in value):
        text = ".".join(_words(item) if isinstance(item, list) else str(item) for item in value)
    else:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
