"""Converts a catalog's values to plain values for handlers, and recognizes values that are not known yet (`value_binder` binds those)."""

from typing import Any

from precast.catalog import unknown
from precast.catalog.secret_references import REFERENCE

_UNKNOWN = frozenset((unknown.HOLE, unknown.TEXT, *unknown.FUTURES, "Deferred", REFERENCE))


def is_unknown(data: Any) -> bool:
    """Whether a value is, or contains, one that must be bound first."""
    if isinstance(data, dict):
        return data.get("__ptype") in _UNKNOWN or any(map(is_unknown, data.values()))
    return isinstance(data, list) and any(map(is_unknown, data))


def plain(data: Any) -> Any:
    """Unwrap a value: a Sensitive becomes its value, a Binary becomes bytes, other rich values become their text."""
    if isinstance(data, list):
        return [plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    kind = data.get("__ptype")
    if kind is None:
        return {key: plain(item) for key, item in data.items()}
    if kind == "Default":
        return "default"
    value: Any = data.get("__pvalue")
    if kind == "Binary":
        import base64  # few catalogs have a Binary

        return base64.b64decode(value)
    if kind == "Hash" and isinstance(value, list):
        return dict(zip(map(plain, value[::2]), map(plain, value[1::2]), strict=True))
    return plain(value) if value is not None else {key: plain(item) for key, item in data.items() if key != "__ptype"}
