"""The values that `newvalues` accepts for one attribute: words with their other names, and patterns."""

import re
from typing import Any

from precast.lang.ruby.errors import raised
from precast.lang.ruby.values import Pattern, Symbol, inspect, to_s


class AcceptedValues:
    """The words and patterns of one attribute; without any, every value is accepted."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}  # each word and each other name, to the word
        self._shown: list[str] = []
        self._patterns: list[Pattern] = []

    def add(self, value: Any) -> None:
        if isinstance(value, Pattern):
            self._patterns.append(value)
            return
        word = _word(value)
        self._words[word] = word
        self._shown.append(word)

    def add_alias(self, name: Any, meaning: Any) -> None:
        self._words[_word(name)] = _word(meaning)

    def words(self) -> tuple[str, ...]:
        return tuple(self._shown)

    def check(self, value: Any) -> None:
        """Raise an ArgumentError of Ruby, in Puppet's words, for a value that is not accepted."""
        if (not self._words and not self._patterns) or _word(value) in self._words or self._match(value):
            return
        text = f"Invalid value {inspect(value)}."
        if self._shown:
            text += f" Valid values are {', '.join(self._shown)}."
        if self._patterns:
            text += f" Valid values match {', '.join(str(inspect(each)) for each in self._patterns)}."
        raise raised("ArgumentError", text)

    def canonical(self, value: Any) -> Any:
        """Return the word as a symbol; other values stay as they are."""
        word = self._words.get(_word(value))
        return value if word is None else Symbol(word)

    def _match(self, value: Any) -> bool:
        text = str(to_s(value))
        return any(re.search(each.compiled, text) is not None for each in self._patterns)


def _word(value: Any) -> str:
    return value.name if isinstance(value, Symbol) else str(to_s(value))
