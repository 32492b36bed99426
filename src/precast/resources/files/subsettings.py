"""The value of a setting that is a list of subsettings: `-Xmx512m -Dfoo=bar`, maybe in quotes.

The items that are not concerned keep their text; blanks around them and repeated separators are lost when the value is written anew.
"""

import re
from typing import NamedTuple


class SubsettingStyle(NamedTuple):
    """The syntax of the list."""

    separator: str = " "
    key_val_separator: str = ""
    quote: str = ""
    is_exact: bool = False  # items have no values, and are compared as a whole


class Subsettings:
    """The items of a value. Changes are made in place; `text` is the value after them."""

    def __init__(self, value: str | None, style: SubsettingStyle) -> None:
        self._style = style
        self._quote = style.quote
        self._items: list[str] = []
        if value is None:
            return
        if value[:1] in ("'", '"') and value.endswith(value[0]):
            self._quote, value = value[0], value[1:-1]
        self._items = [item.strip() for item in _pattern(style.separator).findall(value)]

    @property
    def text(self) -> str:
        return f"{self._quote}{self._style.separator.join(self._items)}{self._quote}"

    def has(self, name: str) -> bool:
        return self._find(name) is not None

    def value(self, name: str) -> str | None:
        """The value of the first item that begins with a name; None if there is none."""
        start = name + self._style.key_val_separator
        return next((item[len(start) :] for item in self._items if item.startswith(start)), None)

    def set(self, name: str, value: str, place: str = "end", reference: str = "") -> None:
        """Set the value of an item, or add it: at the start or end, before or after another one, or at an index."""
        item = f"{name}{self._style.key_val_separator}{value}"
        if self._find(name) is None:
            self._items.insert(self._position(place, reference), item)
        else:
            self._items = [item if self._is_named(known, name) else known for known in self._items]

    def _position(self, place: str, reference: str) -> int:
        end = len(self._items)
        if place == "start":
            return 0
        if place in ("before", "after"):
            found = self._find(reference)
            return end if found is None else found + (place == "after")
        if place == "index":
            return min(int(reference) if reference.isdecimal() else 0, end)
        return end

    def remove(self, name: str) -> None:
        self._items = [item for item in self._items if not self._is_named(item, name)]

    def _find(self, name: str) -> int | None:
        return next((at for at, item in enumerate(self._items) if self._is_named(item, name)), None)

    def _is_named(self, item: str, name: str) -> bool:
        return item == name if self._style.is_exact else item.startswith(name + self._style.key_val_separator)


def _pattern(separator: str) -> re.Pattern[str]:
    """An item: no sign of the separator, or a dot, as the module's own expression has it."""
    from precast.lang.values.regexps import compile_regexp

    return compile_regexp(f"(?:[^\\{separator}]|\\.)+")
