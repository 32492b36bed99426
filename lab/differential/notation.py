"""Writes plain data as Puppet code."""

from typing import Any


def literal(value: Any) -> str:
    """A value in Puppet's notation."""
    if value is None:
        return "undef"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)} => {literal(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _text(value: str) -> str:
    if "\n" in value:
        plain = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\n", "\\n")
        return f'"{plain}"'
    plain = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{plain}'"


def attributes(values: dict[str, Any], indent: str = "    ") -> str:
    """`name => value,` on separate lines."""
    return "".join(f"{indent}{name} => {literal(value)},\n" for name, value in values.items())
