"""The secrets that one compile has met, so that they stay secret where code takes them out of their Sensitive.

`unwrap` gives a plain value. It is recognised by its text: where a text of at least `MIN_CHARS` characters turns up again, in whatever it
was put into, that is secret too. What a function makes of such a text, a digest for example, counts as unwrapped as well. Shorter texts
are parts of many others; they are not followed, but are removed from messages like every other secret.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final

from precast.base.scrubbing import Scrubber
from precast.lang.values import base
from precast.lang.values.base import Binary, Hash, Sensitive
from precast.lang.values.unknowns import UnknownText

MIN_CHARS: Final = 8
_WORD: Final = re.compile("[a-z]{1,12}")
REDACTED: Final = "[value redacted]"
_current: ContextVar["SecretTexts | None"] = ContextVar("secret_texts", default=None)


class SecretTexts:
    """The secrets of one compile. Values are kept by identity, so that no two have the same."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._unwrapped: dict[int, Any] = {}
        self._texts: set[str] = set()
        self._no_words: set[str] = set()  # those of the texts that are no ordinary words
        self._rendered: set[str] = set()
        self.unwraps = 0

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the secrets that the code in the block makes and unwraps."""
        outer = _current.set(self), base.ON_SENSITIVE.set(self._note_made)
        try:
            yield
        finally:
            _current.reset(outer[0])
            base.ON_SENSITIVE.reset(outer[1])

    def note_unwrapped(self, value: Any) -> None:
        self.unwraps += 1
        self._unwrapped[id(value)] = value
        for text in _texts(value):
            if len(text) >= MIN_CHARS and text not in self._texts:
                self._texts.add(text)
                if not _WORD.fullmatch(text):
                    self._no_words.add(text)

    def note_rendered(self, value: Any) -> None:
        """Note what a template that unwraps a secret has rendered. It may have nothing of the secret, so a name may contain it."""
        self._unwrapped[id(value)] = value
        self._rendered.update(text for text in _texts(value) if len(text) >= MIN_CHARS)

    def note_result(self, arguments: Sequence[Any], result: str) -> None:
        """Note what a function has made of a secret. A result that contains the secret itself is found by that."""
        if len(result) < MIN_CHARS or REDACTED in result or self.is_in(result):
            return
        if any(isinstance(each, Sensitive) or (type(each) is str and self.is_in(each)) for each in arguments):
            self.note_unwrapped(result)

    def is_in(self, text: str) -> bool:
        """Whether a text contains what code has unwrapped, or what a function has made of that."""
        return any(secret in text for secret in self._texts)

    def is_in_name(self, text: str) -> bool:
        """As `is_in`, for names. An ordinary word as a password tells nothing, and is part of many names."""
        return any(secret in text for secret in self._no_words)

    def find_among(self, texts: Iterable[str]) -> Scrubber | None:
        """What finds those of the unwrapped texts, in any of their forms, that are in these; None if there is none."""
        if not self._unwrapped:
            return None
        return Scrubber(self._texts | self._rendered, min_chars=MIN_CHARS).narrowed("\0".join(texts)) or None

    def scrubber(self) -> Scrubber:
        """What removes all secrets of the compile from messages."""
        values = (*self._made.values(), *self._unwrapped.values())
        return Scrubber(text for value in values for text in _texts(value))

    def _note_made(self, value: Any) -> None:
        self._made[id(value)] = value


def note_unwrapped(value: Any) -> None:
    """Note a value that code has taken out of a Sensitive."""
    if (current := _current.get()) is not None:
        current.note_unwrapped(value)


def note_result(arguments: Sequence[Any], result: str) -> None:
    """Note what a function has made of its arguments, if these had a secret."""
    current = _current.get()
    if current is not None and (current.unwraps or any(type(each) is Sensitive for each in arguments)):
        current.note_result(arguments, result)


def render_noted(render: Callable[[], Any]) -> Any:
    """Render a template, and note the result if the template unwraps a secret."""
    current = _current.get()
    if current is None:
        return render()
    before = current.unwraps
    rendered = render()
    if current.unwraps > before:
        current.note_rendered(rendered)
    return rendered


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, except the keys of hashes; numbers as text, bytes also decoded."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Hash):
        yield from _texts(tuple(value.values()))
    elif isinstance(value, Sensitive):
        yield from _texts(value.unwrap())
    elif isinstance(value, UnknownText):
        yield from _texts(tuple(value.parts))
    elif isinstance(value, Binary):
        yield from (base.to_string(value), value.data.decode(errors="replace"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
