"""Renders the reads of a trace as text, for people who ask why a node has its catalog."""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.services.traces.chains import Link
from precast.wire.catalogs.bodies import ReadView

SHOWN_CHARS = 120


def read_view(link: Link) -> ReadView:
    """A question with its answer; long texts are truncated."""
    kind, subject = question_texts(msgspec.to_builtins(link.question))
    return ReadView(kind, subject, answer_text(link.answer))


def question_texts(question: Mapping[str, Any]) -> tuple[str, str]:
    """The kind and the subject of a question in its stored form."""
    subject = " ".join(_text(value) for name, value in question.items() if name != "ask")
    return str(question["ask"]), subject


def answer_text(answer: Any) -> str:
    return "absent" if answer is msgspec.UNSET else _text(answer)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | list) for item in value):
        text = ".".join(_text(item) if isinstance(item, list) else str(item) for item in value)
    else:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
