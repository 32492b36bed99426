"""How two sets of facts differ, path by path; and whether the second is one at all.

What stands at the top is compared as the bytes it has in canonical JSON: equal bytes are equal values, so what did not change is never
taken apart, and what was stored was looked at when it came. Only below that are values looked at, and those that are no texts by their
bytes again: 1, 1.0 and true are not the same.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.store.facts import FactChange

_decode = msgspec.json.Decoder().decode
# What was read from JSON has a canonical form: there is nothing to check.
_encode = msgspec.json.Encoder(order="sorted").encode
# Around the name and behind the value of each member in canonical JSON: quotes, a colon, and a comma or the bracket.
_MARKS = 4


class NoFacts(Exception):
    """What is said to be facts is none; the text says why."""


def compare(before: bytes, after: bytes) -> list[FactChange]:
    """Every path whose value differs, as JSON pointers in order. The first is a mapping in canonical JSON, and is taken to be one.

    A list is one value: its order has a meaning of its own. Raises NoFacts if the second is nothing that canonical JSON could say.
    """
    olds = canonical.split_mapping(before)
    now, gone = _changed(olds, after)
    was = {name: _decode(olds[name]) for name in [*now, *gone] if name in olds}
    found: list[FactChange] = []
    _walk(found, "", was, now)
    return sorted(found, key=lambda one: one.path)


def _changed(olds: Mapping[str, msgspec.Raw], after: bytes) -> tuple[dict[str, Any], set[str]]:
    """What stands at the top and is not as it was, and the names that are gone. Raises NoFacts."""
    try:
        news = canonical.split_mapping(after)
        if not _is_tight(news, after):
            canonical.decode_mapping(after)
        # Most of it is as it was: nothing is done for what is.
        texts = {name: new for name, new in news.items() if olds.get(name) != new}
        now = {name: _decode(text) for name, text in texts.items()}
        canonical.refuse_deep(now, *map(bytes, texts.values()))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, PrecastError) as error:
        raise NoFacts(str(error)) from None
    return now, olds.keys() - news.keys()


def _is_tight(members: Mapping[str, msgspec.Raw], text: bytes) -> bool:
    """Whether a text holds its members and nothing else that nobody would look at: no name twice, no blanks."""
    inside = sum([len(name) + len(memoryview(value)) + _MARKS for name, value in members.items()])
    return text.isascii() and len(text) == inside + 1


def _walk(found: list[FactChange], path: str, olds: Mapping[str, Any], news: Mapping[str, Any]) -> None:
    common = len(news)
    for name in [name for name, new in news.items() if olds.get(name) != new or type(new) is not str]:
        new = news[name]
        place = f"{path}/{_escape(name)}"
        if name not in olds:
            common -= 1
            found.append(FactChange(place, None, _encode(new)))
        elif type(new) is dict and type(old := olds[name]) is dict:
            _walk(found, place, old, new)
        elif (there := _encode(new)) != (here := _encode(olds[name])):
            found.append(FactChange(place, here, there))
    if common < len(olds):
        gone = olds.keys() - news.keys()
        found += [FactChange(f"{path}/{_escape(name)}", _encode(olds[name]), None) for name in gone]


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
