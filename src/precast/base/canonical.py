"""Canonical JSON: equal values give equal bytes, on every machine, in every process.

The output is UTF-8 without blanks; keys, also those of a Struct, are sorted by code point; strings escape only what JSON demands; whole
numbers are written in full, up to the 4300 digits that Python writes; floats have the shortest form that reads back the same, always with a
point or an exponent, so that 1 and 1.0 stay different. NaN and the infinities, keys that are not strings, lone surrogates and nesting
deeper than `MAX_DEPTH` are errors, never silently something else. A `msgspec.Raw` is copied without a check: it must be canonical already.

msgspec encodes everything that gets a digest. Encoders differ in how they write floats, so `tests/spec/canonical.txt` pins its bytes.
msgspec writes NaN as null and has no depth limit but the stack; this module checks both, and only when the bytes show that it could matter.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from precast.base import issues

MAX_DEPTH = 256

_encoder = msgspec.json.Encoder(order="sorted")
_mapping = msgspec.json.Decoder(dict[str, Any])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LEAVES = frozenset({str, int, bool, type(None)})
_SCALARS = _LEAVES | {float}
_CONTAINERS = frozenset({dict, list})


def encode(value: Any) -> bytes:
    """The canonical bytes of plain data or a Struct. Raises InputError JSON-001 to JSON-003 for a value without a canonical form."""
    try:
        data = _write(value)
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise issues.NOT_JSON.error(reason=error) from None
    # NaN is written as null, so bytes without null come from a value without NaN.
    if b"null" in data or not _is_shallow(value, data):
        _inspect(value)
    return data


def decode_mapping(data: bytes) -> dict[str, Any]:
    """Decode a mapping in JSON that also has a canonical form.

    Raises msgspec's errors, UnicodeDecodeError, RecursionError, and InputError JSON-002 if it is nested too deep.
    """
    value = _mapping.decode(data)
    if _brackets(data) >= MAX_DEPTH:
        refuse_deep(value, data)
    return value


def split_mapping(data: bytes) -> dict[str, msgspec.Raw]:
    """Split a mapping in JSON into its keys and the JSON texts of their values.

    It is as strict as `decode_mapping`, except for texts that are not UTF-8, numbers that are too large, and depth.
    """
    return _members.decode(data)


def refuse_deep(value: Any, *texts: bytes) -> None:
    """Raises InputError JSON-002 if a value that was read from these texts is nested too deep."""
    if not _is_shallow(value, *texts):
        _inspect(value)


def _is_shallow(value: Any, *texts: bytes) -> bool:
    """Whether the value is surely within the limit; if False, `_inspect` decides.

    A value that is too deep has at least as many brackets in its texts as its depth, except for one around the texts.
    """
    return sum(map(_brackets, texts)) < MAX_DEPTH or _is_plain_and_shallow(value)


def _brackets(text: bytes) -> int:
    return _occurrences(text, b"[") + _occurrences(text, b"{")


def _occurrences(text: bytes, bracket: bytes) -> int:
    # Counting takes ten times as long as finding out that there is no bracket after the first character.
    return text.count(bracket) if text.find(bracket, 1) > 0 else int(text.startswith(bracket))


def _write(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except RecursionError:
        _inspect(value)
    from concurrent.futures import ThreadPoolExecutor  # rarely needed, and slow to import

    # The value is within the limit: the caller has used up the stack. Another thread has a stack of its own.
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(_encoder.encode, value).result()


def _is_plain_and_shallow(value: Any) -> bool:
    """Whether the value consists of dicts and lists within the limit; if False, `_inspect` decides.

    It checks level by level, which is fast. The value was encoded already, so it has no cycle.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        if not _CONTAINERS.issuperset(map(type, level)):
            return False
        inside = [item for outer in level for item in (outer.values() if type(outer) is dict else outer)]
        level = [item for item in inside if type(item) not in _SCALARS]
        if not level:
            return True
    return False


def _inspect(value: Any) -> None:
    """Raise for a float that is not finite and for nesting beyond the limit.

    The search is depth-first, so that a cycle ends at the limit, and not recursive, so that it cannot exhaust the stack.
    """
    path: list[Iterator[Any]] = [iter((value,))]
    while path:
        for item in path[-1]:
            kind = type(item)
            if kind in _LEAVES:
                continue
            if kind is float:
                if not math.isfinite(item):
                    raise issues.NOT_FINITE.error(value=item)
            elif (inside := _inside(item)) is not None:
                if len(path) > MAX_DEPTH:
                    raise issues.TOO_DEEP.error(limit=MAX_DEPTH)
                path.append(iter(inside))
                break
        else:
            path.pop()


def _inside(item: Any) -> Iterable[Any] | None:
    """The items of a container; None for a value that is not a container."""
    if isinstance(item, dict):
        return item.values()
    if isinstance(item, (list, tuple, set, frozenset)):
        return item
    if isinstance(item, msgspec.Struct):
        return [getattr(item, field) for field in item.__struct_fields__]
    if hasattr(type(item), "__dataclass_fields__"):
        return [getattr(item, field) for field in item.__dataclass_fields__]
    return None
