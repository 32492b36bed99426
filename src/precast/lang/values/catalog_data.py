"""Reads the data of a catalog back into values of the language: the inverse of `serialization`."""

import base64
from collections.abc import Callable
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.catalog import unknown
from precast.lang.values.base import DEFAULT, Binary, Hash, Regexp, Sensitive
from precast.lang.values.strptime import TIMESPAN_FORMATS, TIMESTAMP_FORMATS, parse_timespan, parse_timestamp
from precast.lang.values.unknowns import OPTIONS, DeferredCall, Future, Hole, UnknownText
from precast.lang.values.uris import URI
from precast.lang.values.versions import SemVer, SemVerRange


def value_of(data: Any) -> Any:
    """The value that was serialized. An object of a type that is not known here stays a Hash, which is serialized as it was."""
    if isinstance(data, list):
        return tuple(map(value_of, data))
    if not isinstance(data, dict):
        return data
    kind = data.get("__ptype")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        try:
            value = read(data)
        except (PrecastError, ValueError, KeyError, TypeError, IndexError):
            value = None
        if value is not None:
            return value
    return Hash.of((key, value_of(item)) for key, item in data.items())


def _hash(data: dict[str, Any]) -> Hash:
    flat = data["__pvalue"]
    return Hash.of(zip(map(value_of, flat[::2]), map(value_of, flat[1::2]), strict=True))


def _of_text(read: Callable[[str], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda data: read(str(data["__pvalue"]))


def _future(value: Any, *, many: bool) -> Future:
    if isinstance(value, str):
        return Future(value, many)
    return Future(value["key"], many, **{name: value[name] for name in OPTIONS if name in value})


_READERS: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "Sensitive": lambda data: Sensitive(value_of(data["__pvalue"])),
    "Default": lambda data: DEFAULT,
    "Hash": _hash,
    "Binary": _of_text(lambda text: Binary(base64.b64decode(text, validate=True))),
    "Regexp": _of_text(Regexp),
    "Float": _of_text(float),
    "Timestamp": _of_text(lambda text: parse_timestamp(text, TIMESTAMP_FORMATS, None)),
    "Timespan": _of_text(lambda text: parse_timespan(text, TIMESPAN_FORMATS)),
    "SemVer": _of_text(SemVer.parse),
    "SemVerRange": _of_text(SemVerRange.parse),
    "URI": _of_text(URI.parse),
    "Deferred": lambda data: DeferredCall(data["name"], value_of(data["arguments"])),
    unknown.HOLE: lambda data: Hole(data["__pvalue"][0], tuple(data["__pvalue"][1:])),
    unknown.TEXT: lambda data: UnknownText(value_of(data["__pvalue"])),
    unknown.FUTURES[0]: lambda data: _future(data["__pvalue"], many=False),
    unknown.FUTURES[1]: lambda data: _future(data["__pvalue"], many=True),
}
