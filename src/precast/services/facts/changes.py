"""Compares two sets of facts path by path, and checks that the second is valid.

Top-level facts are compared as bytes of canonical JSON: equal bytes are equal values, so an unchanged fact is never decoded, and the stored
facts were checked when they were received. In a large flat mapping, such as packages with their versions, each member is compared in this
way. Only below that are values decoded, and all but strings are compared by their bytes again: 1, 1.0 and true are not the same.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.store.facts.facts import FactChange

_decode = msgspec.json.Decoder().decode
# A value that was decoded from JSON has a canonical form: there is nothing to check.
_encode = msgspec.json.Encoder(order="sorted").encode
# The marks of each member in canonical JSON: two quotes, a colon, and a comma or the bracket.
_MARKS = 4
# From this many bytes on it is faster to compare members than to decode all of them.
_LARGE = 1024
# With more differing pieces it is slower.
_MOST_DIFFERING = 1000
# Names with their values, of which none contains a comma. The rest of a string after a comma of its own does not match as a member, because
# it does not begin with an opening quote. A closing quote of a name is followed by a colon, or by blanks and a colon, so names that begin
# like that are excluded.
_MEMBER = rb'"(?:[^",: \t\r\n][^",]*)?":(?:"[^",]*"|[^",]*)'
_MEMBERS = re.compile(rb"%b(?:,%b)*" % (_MEMBER, _MEMBER))


class NoFacts(Exception):
    """A text that should be facts is invalid; the message says why."""


def compare(before: bytes, after: bytes) -> list[FactChange]:
    """Every path whose value differs, as JSON pointers in order. The first text must be a mapping in canonical JSON, and is not checked.

    A list is one value: its order has a meaning of its own. Raises NoFacts if the second text has no form in canonical JSON.
    """
    old, new = _decode_changed(canonical.split_mapping(before), after)
    changes: list[FactChange] = []
    _compare_mappings(changes, "", old, new)
    return sorted(changes, key=lambda change: change.path)


def _decode_changed(olds: Mapping[str, msgspec.Raw], after: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The top-level facts that differ, decoded: as they were and as they are. Raises NoFacts."""
    try:
        news = canonical.split_mapping(after)
        if not _is_tight(news, after):
            canonical.decode_mapping(after)
        # Most facts are unchanged: nothing is done for them.
        there = {name: bytes(new) for name, new in news.items() if olds.get(name) != new}
        here = {name: bytes(olds[name]) for name in [*there, *(olds.keys() - news.keys())] if name in olds}
        for name in there.keys() & here.keys():
            here[name], there[name] = drop_equal_members(here[name], there[name])
        now = {name: _decode(text) for name, text in there.items()}
        canonical.refuse_deep(now, *there.values())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, PrecastError) as error:
        raise NoFacts(str(error)) from None
    return {name: _decode(text) for name, text in here.items()}, now


def drop_equal_members(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Two differing JSON values without the members that are equal in both, if their texts show that: both are large flat mappings with the
    same number of members and without escapes. Other values are returned unchanged."""
    if len(new) < _LARGE or not (_is_plain(old) and _is_plain(new)):
        return old, new
    olds, news = old[1:-1].split(b","), new[1:-1].split(b",")
    if len(olds) != len(news):
        return old, new
    differing = [(here, there) for here, there in zip(olds, news, strict=True) if here != there]
    if len(differing) > _MOST_DIFFERING:
        return old, new
    here, there = (b",".join(texts) for texts in zip(*differing, strict=True))
    # A string may contain commas.
    is_whole = _MEMBERS.fullmatch(here) and _MEMBERS.fullmatch(there)
    return (b"{%b}" % here, b"{%b}" % there) if is_whole else (old, new)


def _is_plain(text: bytes) -> bool:
    """Whether a text is a mapping without nested mappings, lists and escapes."""
    return text.startswith(b"{") and text.find(b"{", 1) < 0 and b"[" not in text and b"\\" not in text


def _is_tight(members: Mapping[str, msgspec.Raw], text: bytes) -> bool:
    """Whether a text consists of its members only: no duplicate names and no blanks, which the comparison would not see."""
    inside = sum([len(name) + len(memoryview(value)) + _MARKS for name, value in members.items()])
    return text.isascii() and len(text) == inside + 1


def _compare_mappings(changes: list[FactChange], path: str, olds: Mapping[str, Any], news: Mapping[str, Any]) -> None:
    common = len(news)
    for name in [name for name, new in news.items() if olds.get(name) != new or type(new) is not str]:
        new = news[name]
        pointer = f"{path}/{_escape(name)}"
        if name not in olds:
            common -= 1
            changes.append(FactChange(pointer, None, _encode(new)))
        elif type(new) is dict and type(old := olds[name]) is dict:
            _compare_mappings(changes, pointer, old, new)
        elif (there := _encode(new)) != (here := _encode(olds[name])):
            changes.append(FactChange(pointer, here, there))
    if common < len(olds):
        gone = olds.keys() - news.keys()
        changes += [FactChange(f"{path}/{_escape(name)}", _encode(olds[name]), None) for name in gone]


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
