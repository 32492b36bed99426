"""Canonical JSON: equal values give equal bytes, on every machine, in every process.

UTF-8 without blanks; keys sorted by code point; strings escape only what JSON demands; whole numbers of any size in full;
floats in the shortest form that reads back the same, always with a point or an exponent, so that 1 and 1.0 stay different. NaN
and the infinities, keys that are not strings, lone surrogates and nesting deeper than `MAX_DEPTH` are errors, never silently
something else.

msgspec is the one encoder for everything that gets a digest: encoders differ in how they write floats, so
`tests/spec/canonical.txt` pins its bytes. It writes NaN as null and has no depth limit of its own; both are checked here, and
only when the bytes say it could matter.
"""

import math
from typing import Any

import msgspec

from precast.base import issues

MAX_DEPTH = 256

_encoder = msgspec.json.Encoder(order="deterministic")


def encode(value: Any) -> bytes:
    """The canonical bytes of plain data or a Struct. Raises InputError JSON-001 to JSON-003 for what has none."""
    try:
        data = _encoder.encode(value)
    except RecursionError:
        raise issues.TOO_DEEP.error(limit=MAX_DEPTH) from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise issues.NOT_JSON.error(reason=error) from None
    # NaN became null, and a value too deep has at least as many brackets: without either sign there is nothing to look for.
    if b"null" in data or data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        _inspect(value)
    return data


def _inspect(value: Any) -> None:
    """Raise for a float that is not finite and for nesting beyond the limit."""
    level: list[Any] = [value]
    depth = 0
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, float):
                if not math.isfinite(item):
                    raise issues.NOT_FINITE.error(value=item)
            elif isinstance(item, dict):
                below.append(item.values())
            elif isinstance(item, (list, tuple, set, frozenset)):
                below.append(item)
            elif isinstance(item, msgspec.Struct):
                below.append([getattr(item, field) for field in item.__struct_fields__])
        if below:
            depth += 1
            if depth > MAX_DEPTH:
                raise issues.TOO_DEEP.error(limit=MAX_DEPTH)
        level = [item for items in below for item in items]
