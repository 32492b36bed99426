"""Explains a lookup step by step for `precast lookup --explain`: a tree that is built only on request."""

import contextlib
from collections.abc import Iterator
from typing import Any

from precast.lang.ruby.puppet_text import ruby_inspect
from precast.lang.values.base import Hash, literal


class Step:
    """One step of a lookup, with its outcome and the steps inside it."""

    __slots__ = ("details", "steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.details: list[tuple[str, Any]] = []
        self.steps: list[Step | tuple[str, Any]] = []


class Explainer:
    """Records the steps of a lookup in their order."""

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


def shown(value: Any, indent: str = "") -> str:
    """A value over as many lines as its parts need; a Sensitive stays redacted."""
    deeper = f"{indent}  "
    if isinstance(value, Hash) and value:
        parts = [f"{deeper}{shown(key)} => {shown(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, tuple) and value:
        parts = [f"{deeper}{shown(item, deeper)}" for item in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    return ruby_inspect(value) if isinstance(value, str) else literal(value)
