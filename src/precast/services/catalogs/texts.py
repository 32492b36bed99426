"""Reads of a trace in words, for people who ask why."""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.services.traces.chains import Link
from precast.wire.catalogs.bodies import ReadView

SHOWN_CHARS = 120


def read_view(link: Link) -> ReadView:
    """A question with its answer; long ones are cut."""
    kind, about = question_words(msgspec.to_builtins(link.question))
    return ReadView(kind, about, answer_words(link.answer))


def question_words(question: Mapping[str, Any]) -> tuple[str, str]:
    """What kind of question it is, and what it is about; a question as it is stored."""
    about = " ".join(_words(value) for name, value in question.items() if name != "ask")
    return str(question["ask"]), about


def answer_words(answer: Any) -> str:
    return "absent" if answer is msgspec.UNSET else _words(answer)


def _words(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | list) for item in value):
        text = ".".join(_words(item) if isinstance(item, list) else str(item) for item in value)
    else:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
