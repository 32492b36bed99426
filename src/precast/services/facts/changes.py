"""How two sets of facts differ, path by path; and whether the second is one at all.

What stands at the top is compared as the bytes it has in canonical JSON: equal bytes are equal values, so what did not change is never
taken apart, and what was stored was looked at when it came. In a large flat mapping, such as packages with their versions, that goes for
each member. Only below that are values looked at, and those that are no texts by their bytes again: 1, 1.0 and true are not the same.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.store.facts.facts import FactChange

_decode = msgspec.json.Decoder().decode
# What was read from JSON has a canonical form: there is nothing to check.
_encode = msgspec.json.Encoder(order="sorted").encode
# Around the name and behind the value of each member in canonical JSON: quotes, a colon, and a comma or the bracket.
_MARKS = 4
# From this many bytes on it takes less time to compare members than to read all of them.
_LARGE = 1024
# With more pieces that differ it does not.
_MOST_DIFFERING = 1000
# Names with their values, of which none has a comma. What a text has behind a comma of its own is no member: it does not begin with a quote
# that opens. The one that closes a name has a colon behind it, or blanks and a colon, so names that begin like that are left out.
_MEMBER = rb'"(?:[^",: \t\r\n][^",]*)?":(?:"[^",]*"|[^",]*)'
_MEMBERS = re.compile(rb"%b(?:,%b)*" % (_MEMBER, _MEMBER))


class NoFacts(Exception):
    """What is said to be facts is none; the text says why."""


def compare(before: bytes, after: bytes) -> list[FactChange]:
    """Every path whose value differs, as JSON pointers in order. The first is a mapping in canonical JSON, and is taken to be one.

    A list is one value: its order has a meaning of its own. Raises NoFacts if the second is nothing that canonical JSON could say.
    """
    was, now = _changed(canonical.split_mapping(before), after)
    found: list[FactChange] = []
    _walk(found, "", was, now)
    return sorted(found, key=lambda one: one.path)


def _changed(olds: Mapping[str, msgspec.Raw], after: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What stands at the top and is not the same, as it was and as it is. Raises NoFacts."""
    try:
        news = canonical.split_mapping(after)
        if not _is_tight(news, after):
            canonical.decode_mapping(after)
        # Most of it is as it was: nothing is done for what is.
        there = {name: bytes(new) for name, new in news.items() if olds.get(name) != new}
        here = {name: bytes(olds[name]) for name in [*there, *(olds.keys() - news.keys())] if name in olds}
        for name in there.keys() & here.keys():
            here[name], there[name] = without_same(here[name], there[name])
        now = {name: _decode(text) for name, text in there.items()}
        canonical.refuse_deep(now, *there.values())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, PrecastError) as error:
        raise NoFacts(str(error)) from None
    return {name: _decode(text) for name, text in here.items()}, now


def without_same(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Two values in JSON that differ, without members that are the same in both, where that is seen from their texts: they are large flat
    mappings with as many members, and without escapes. Any others as they are."""
    if len(new) < _LARGE or not (_is_plain(old) and _is_plain(new)):
        return old, new
    olds, news = old[1:-1].split(b","), new[1:-1].split(b",")
    if len(olds) != len(news):
        return old, new
    differing = [(here, there) for here, there in zip(olds, news, strict=True) if here != there]
    if len(differing) > _MOST_DIFFERING:
        return old, new
    here, there = (b",".join(texts) for texts in zip(*differing, strict=True))
    # There may be commas in texts.
    is_whole = _MEMBERS.fullmatch(here) and _MEMBERS.fullmatch(there)
    return (b"{%b}" % here, b"{%b}" % there) if is_whole else (old, new)


def _is_plain(text: bytes) -> bool:
    """Whether it is a mapping that holds no others and no lists, and in which a quote is a quote."""
    return text.startswith(b"{") and text.find(b"{", 1) < 0 and b"[" not in text and b"\\" not in text


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
