"""Writes JSON as Ruby's generator does: floats in Ruby's form, keys and whatever JSON has no form for as their texts."""

import json
import math
from typing import Any, NamedTuple

from precast.lang.ruby.text import ruby_text
from precast.lang.values.core import Hash, float_text


class Layout(NamedTuple):
    """What stands between the parts; the empty one is the compact form."""

    indent: str = ""
    space: str = ""
    space_before: str = ""
    object_nl: str = ""
    array_nl: str = ""
    allows_nan: bool = False
    most_levels: int = 100  # 0: no limit


PRETTY = Layout(indent="  ", space=" ", object_nl="\n", array_nl="\n")


def to_json(value: Any, layout: Layout = Layout(), depth: int = 0) -> str:  # noqa: B008 (never changed)
    """The JSON of a value. Raises ValueError for what cannot be written: NaN, or too many levels."""
    if isinstance(value, tuple | Hash):
        if layout.most_levels and depth + 1 > layout.most_levels:
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
