"""Plain data as a manifest writes it."""

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
        return "{" + ", ".join(f"{literal(key)} => {literal(each)}" for key, each in value.items()) + "}"
    return repr(value)


def _text(value: str) -> str:
    if "\n" in value:
        plain = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\n", "\\n")
        return f'"{plain}"'
    plain = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{plain}'"


def attributes(values: dict[str, Any], indent: str = "    ") -> str:
    """`name => value,` line by line."""
    return "".join(f"{indent}{name} => {literal(value)},\n" for name, value in values.items())
