"""Fragments that are data, merged into one document: hashes key by key, arrays one after the other.

Of two different values for one key the first wins if `is_forced`; otherwise they are an error, so that no value is silently lost.
Documents are written as Ruby writes them, so that a file that Puppet wrote does not change.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from precast.resources.files import issues

FORMATS: Final = ("plain", "yaml", "json", "json-array", "json-pretty", "json-array-pretty")


def merge_fragments(path: str, form: str, fragments: Iterable[tuple[str, bytes]], is_forced: bool) -> bytes:
    """Merge all fragments, each given as its name and text, into one document.

    Raises InputError RESOURCE-123 for a fragment that cannot be read, ConflictError RESOURCE-124 for two values of one key.
    """
    parts = [_read(path, form, name, text) for name, text in fragments]
    if form.startswith("json-array"):
        whole: Any = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    else:
        whole = None
        for part in parts:
            whole = part if whole is None else _merge(path, whole, part, is_forced, "")
    if form == "yaml":
        return _yaml(whole)
    return (_pretty(whole, "") if form.endswith("pretty") else _compact(whole)).encode()


def _read(path: str, form: str, name: str, text: bytes) -> Any:
    try:
        if form != "yaml":
            return json.loads(text)
        import yaml  # type: ignore[import-untyped] # it has no types of its own

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from None
    except ValueError as error:
        word = "YAML" if form == "yaml" else "JSON"
        raise issues.BAD_FRAGMENT.error(path=path, fragment=name, format=word, reason=error) from None


def _merge(path: str, first: Any, second: Any, is_forced: bool, key: str) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        whole = dict(first)
        for name, value in second.items():
            whole[name] = _merge(path, first[name], value, is_forced, str(name)) if name in first else value
        return whole
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *(item for item in second if item not in first)]
    if first == second or is_forced:
        return first
    raise issues.FRAGMENT_CONFLICT.error(path=path, key=key or "the kind of document")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _pretty(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, dict):
        items = [f"{inner}{_compact(str(key))}: {_pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + ("\n" if items else "") + f"{indent}}}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + _pretty(item, inner) for item in value) + f"\n{indent}]"
    return _compact(value)


def _yaml(value: Any) -> bytes:
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc] # likewise
        pass

    def text(dumper: yaml.SafeDumper, data: str) -> Any:
        style = '"' if data in ("y", "n", "Y", "N") else "|" if "\n" in data else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, text)
    written = yaml.dump(
        value, Dumper=Dumper, explicit_start=True, default_flow_style=False, sort_keys=False, allow_unicode=True
    )
    return str(written).encode()
