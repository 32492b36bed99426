"""Writes JSON as Ruby's generator does: floats in Ruby's form, and keys and other objects as their `to_s`."""

import json
import math
from typing import Any, NamedTuple

from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import Hash, float_text


class Layout(NamedTuple):
    """The white space between the parts and the limits; the default is the compact form."""

    indent: str = ""
    space: str = ""
    space_before: str = ""
    object_nl: str = ""
    array_nl: str = ""
    allows_nan: bool = False
    max_nesting: int = 100  # 0: no limit


PRETTY = Layout(indent="  ", space=" ", object_nl="\n", array_nl="\n")


def to_json(value: Any, layout: Layout = Layout(), depth: int = 0) -> str:  # noqa: B008 (immutable)
    """Return the JSON of a value. Raises ValueError for NaN, or for more levels than the layout allows."""
    if isinstance(value, tuple | Hash):
        if layout.max_nesting and depth + 1 > layout.max_nesting:
            raise ValueError(f"nesting of {depth + 1} is too deep")
        return _list(value, layout, depth) if isinstance(value, tuple) else _object(value, layout, depth)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value) and not layout.allows_nan:
            raise ValueError(f"{float_text(value)} not allowed in JSON")
        return float_text(value)
    if isinstance(value, int):
        return str(int(value))
    return "null" if value is None else json.dumps(ruby_text(value), ensure_ascii=False)


def _list(value: tuple[Any, ...], layout: Layout, depth: int) -> str:
    inner = layout.indent * (depth + 1)
    items = f",{layout.array_nl}".join(inner + to_json(item, layout, depth + 1) for item in value)
    return f"[{layout.array_nl}{items}{layout.array_nl}{layout.indent * depth}]"


def _object(value: Hash, layout: Layout, depth: int) -> str:
    if not value:
        return f"{{{layout.object_nl}{layout.indent * depth}}}"
    inner = layout.indent * (depth + 1)
    entries = f",{layout.object_nl}".join(
        f"{inner}{json.dumps(ruby_text(key), ensure_ascii=False)}{layout.space_before}:{layout.space}"
        + to_json(item, layout, depth + 1)
        for key, item in value.items()
    )
    return f"{{{layout.object_nl}{entries}{layout.object_nl}{layout.indent * depth}}}"
