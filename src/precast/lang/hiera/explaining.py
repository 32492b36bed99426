"""What a look-up did, step by step, for `precast lookup --explain`: a tree, made only when somebody asks for it."""

import contextlib
from collections.abc import Iterator
from typing import Any

from precast.lang.values import Hash


class Step:
    """One thing that was tried, what came of it, and what it tried in turn."""

    __slots__ = ("details", "steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.details: list[tuple[str, Any]] = []
        self.steps: list[Step | tuple[str, Any]] = []


class Explainer:
    """Keeps the steps of a look-up in the order they were taken."""

    def __init__(self) -> None:
        self.root = Step("")
        self._stack = [self.root]

    @contextlib.contextmanager
    def within(self, text: str, **details: Any) -> Iterator[None]:
        step = Step(text)
        step.details += [(name, value) for name, value in details.items() if value not in (None, "", Hash())]
        self._stack[-1].steps.append(step)
        self._stack.append(step)
        try:
            yield
        finally:
            self._stack.pop()

    def found(self, key: Any, value: Any) -> None:
        self._note("found", (key, value))

    def not_found(self, key: Any) -> None:
        self._note("not found", key)

    def result(self, value: Any) -> None:
        self._note("result", value)

    def say(self, text: str) -> None:
        self._note("text", text)

    def _note(self, kind: str, value: Any) -> None:
        self._stack[-1].steps.append((kind, value))
