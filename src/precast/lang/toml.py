"""Writes TOML as stdlib's to_toml does: keys sorted, plain values before tables, tables before arrays of tables."""

import re
from collections.abc import Iterator
from typing import Any, Final

from precast.lang.ruby.puppet_text import ruby_inspect, ruby_text
from precast.lang.values.base import Hash, Regexp

_BARE: Final = re.compile(r"[a-zA-Z0-9_-]*")


def to_toml(data: Hash) -> str:
    return "".join(_table(data, ()))


def _table(data: Hash, path: tuple[str, ...]) -> Iterator[str]:
    plain = [key for key, item in data.items() if not _is_table(item) and not _is_list_of_tables(item)]
    if path and (plain or not data):
        yield f"[{'.'.join(path)}]\n"
    yield from _entries(data, path)


def _entries(data: Hash, path: tuple[str, ...]) -> Iterator[str]:
    entries = sorted(((ruby_text(key), item) for key, item in data.items()), key=lambda entry: entry[0])
    for key, item in entries:
        if not _is_table(item) and not _is_list_of_tables(item):
            yield f"{_key(key)} = {_value(item)}\n"
    for key, item in entries:
        if _is_table(item):
            yield from _table(item, (*path, _key(key)))
    for key, item in entries:
        if _is_list_of_tables(item):
            inner = (*path, _key(key))
            for table in item:
                yield f"[[{'.'.join(inner)}]]\n"
                yield from _entries(table, inner)


def _is_table(value: Any) -> bool:
    return isinstance(value, Hash)


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Hash)


def _key(text: str) -> str:
    if _BARE.fullmatch(text):
        return text
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"'


def _value(value: Any) -> str:
    if isinstance(value, str):
        return re.sub(r"\\(#[$@{])", r"\1", ruby_inspect(value))
    return ruby_inspect(str(value)) if isinstance(value, Regexp) else ruby_inspect(value)
