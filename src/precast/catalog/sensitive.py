"""Which values of a catalog are secret.

A value is secret by where it came from: a Sensitive in the manifest stays one wherever it is put, inside arrays, hashes, texts that are
joined later and the arguments of Deferred calls. A parameter that contains one is hidden as a whole, in differences, previews, queries
and reports alike. In stored catalogs a reference stands for the value itself (`secret_references`): it is secret too, and has no texts.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from precast.catalog.body import ResourceData
from precast.catalog.secret_references import REFERENCE, SENSITIVE, is_reference

HIDDEN = "(sensitive)"
TYPE = SENSITIVE


def is_sensitive(data: Any) -> bool:
    """Whether a value is, or contains, a Sensitive one."""
    if isinstance(data, dict):
        return data.get("__ptype") in (TYPE, REFERENCE) or any(map(is_sensitive, data.values()))
    return isinstance(data, list | tuple) and any(map(is_sensitive, data))


def sensitive_parameters(resource: ResourceData) -> frozenset[str]:
    """The names of all parameters that are or contain a Sensitive."""
    names = frozenset(name for name, value in resource.parameters.items() if is_sensitive(value))
    return names.union(resource.sensitive_parameters)


def secret_texts(resource: ResourceData) -> Iterator[str]:
    """Every text that is secret in a resource."""
    for name, value in resource.parameters.items():
        if name in resource.sensitive_parameters:
            yield from texts(value)
        elif not isinstance(value, str):
            yield from sensitive_texts(value)


def sensitive_texts(data: Any) -> Iterator[str]:
    """Every text inside the Sensitive parts of a value."""
    if isinstance(data, dict):
        if data.get("__ptype") == TYPE:
            yield from texts(data.get("__pvalue"))
        else:
            yield from _each(sensitive_texts, data.values())
    elif isinstance(data, list | tuple):
        yield from _each(sensitive_texts, data)


def texts(data: Any) -> Iterator[str]:
    """Every text in a value; numbers as text, a Binary also decoded."""
    if isinstance(data, dict):
        if is_reference(data):
            return
        if data.get("__ptype") == "Binary":
            yield from _binary_texts(str(data.get("__pvalue")))
        else:
            yield from (key for key in data if key not in ("__ptype", "__pvalue"))
            yield from _each(texts, (value for key, value in data.items() if key != "__ptype"))
    elif isinstance(data, list | tuple):
        yield from _each(texts, data)
    elif data is not None and not isinstance(data, bool):
        yield data if isinstance(data, str) else str(data)


def _binary_texts(encoded: str) -> Iterator[str]:
    import base64  # few catalogs have a Binary

    yield encoded
    yield base64.b64decode(encoded).decode(errors="replace")


def _each(walk: Any, items: Iterable[Any]) -> Iterator[str]:
    for item in items:
        yield from walk(item)
