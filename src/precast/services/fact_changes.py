"""How two sets of facts differ, path by path.

What stands at the top is compared as the bytes it has in canonical JSON: equal bytes are equal values, so what did not change is never
taken apart. Only below that are values looked at, and those that are no texts by their bytes again: 1, 1.0 and true are not the same.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.store.facts import FactChange

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_decode = msgspec.json.Decoder().decode
# What was read from JSON has a canonical form: there is nothing to check.
_encode = msgspec.json.Encoder(order="sorted").encode


def compare(before: bytes, after: bytes, facts: Mapping[str, Any] | None = None) -> list[FactChange]:
    """Every path whose value differs, as JSON pointers in order. Both are mappings in canonical JSON; `facts` is what the second says,
    where that is at hand.

    A list is one value: its order has a meaning of its own.
    """
    olds, news = _members.decode(before), _members.decode(after)
    # Most of it is as it was: nothing is done for what is.
    names = [name for name, new in news.items() if olds.get(name) != new]
    now = {name: _decode(news[name]) if facts is None else facts[name] for name in names}
    was = {name: _decode(olds[name]) for name in [*names, *(olds.keys() - news.keys())] if name in olds}
    found: list[FactChange] = []
    _walk(found, "", was, now)
    return sorted(found, key=lambda one: one.path)


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
