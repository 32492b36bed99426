"""References to secrets: what stands in a stored catalog where a Sensitive value was.

The reference of a value is an HMAC that only the owner of the environment's key can make, so nobody can guess a short value by trying.
Its salt is an HMAC of the value, too: a node that is sent a value with its salt verifies that the reference of its catalog names this
value. A value may contain holes; its reference then carries them, and they are filled with the rest of the catalog when it is served.
So equal values give equal catalogs, and a changed value or hole gives another one.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from precast.base import canonical
from precast.catalog import issues, unknown

REFERENCE: Final = "Precast::Secret"
SENSITIVE: Final = "Sensitive"
# What a resource in canonical bytes contains if it has a secret.
_MARKS: Final = (f'"{SENSITIVE}"'.encode(), b'"sensitive_parameters"')
_RESERVED: Final = f'"{REFERENCE}"'.encode()
# A type that is itself a value: a hole or a text in it could become the name of a type when the catalog is filled.
_OPEN_TYPES: Final = (b'"__ptype":{', b'"__ptype":[')

# Makes the reference of a value in canonical JSON.
Refer = Callable[[bytes], str]
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class HiddenBody(NamedTuple):
    """A body with references in place of secrets, and the values by reference, in canonical JSON."""

    body: bytes
    values: dict[str, bytes]


def make_reference(salt: bytes, value: bytes) -> str:
    """The reference of a value in canonical JSON."""
    return hmac.digest(salt, value, hashlib.sha256).hex()


def is_reference(data: Any) -> bool:
    return isinstance(data, dict) and data.get("__ptype") == REFERENCE


def references(data: Any) -> Iterator[str]:
    """Every reference in a value."""
    if isinstance(data, dict):
        if data.get("__ptype") == REFERENCE:
            yield str(data.get("__pvalue"))
        else:
            for item in data.values():
                yield from references(item)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from references(item)


def hide_secrets(body: bytes, refer: Refer) -> HiddenBody:
    """Replace the secrets in the canonical bytes of a body by references.

    A body without secrets is returned as it is, and is not decoded. Raises InputError CATALOG-005 if it contains a reference already:
    manifests could name the secrets of others with it. The same holds for a type that is no text: filling could make it one.
    """
    if not any(mark in body for mark in (*_MARKS, _RESERVED, *_OPEN_TYPES)):
        return HiddenBody(body, {})
    values: dict[str, bytes] = {}
    members: dict[str, Any] = dict(canonical.split_mapping(body))
    members["resources"] = [_hide_in_resource(raw, refer, values) for raw in _raws.decode(members["resources"])]
    return HiddenBody(canonical.encode(members), values)


def _hide_in_resource(raw: msgspec.Raw, refer: Refer, values: dict[str, bytes]) -> msgspec.Raw:
    data = bytes(raw)
    is_secret = any(mark in data for mark in _MARKS)
    has_open_type = any(mark in data for mark in _OPEN_TYPES)
    if not is_secret and not has_open_type and _RESERVED not in data:
        return raw
    resource: dict[str, Any] = msgspec.json.decode(data)
    if has_open_type or next(references(resource["parameters"]), None) is not None:
        raise issues.RESERVED_REFERENCE.error(ref=f"{resource['type']}[{resource['title']}]", type=REFERENCE)
    if not is_secret:
        return raw

    def hide(value: Any) -> dict[str, Any]:
        encoded = canonical.encode(value)
        reference = refer(encoded)
        values[reference] = encoded
        holes = _template_holes(value)
        return {"__ptype": REFERENCE, "__pvalue": reference} | ({"holes": holes} if holes else {})

    secret = set(resource.get("sensitive_parameters", ()))
    resource["parameters"] = {
        name: hide(value) if name in secret else _hide_in_value(value, hide)
        for name, value in resource["parameters"].items()
    }
    return msgspec.Raw(canonical.encode(resource))


def _hide_in_value(data: Any, hide: Callable[[Any], dict[str, Any]]) -> Any:
    """The value with a reference inside each Sensitive; a Sensitive inside another one is part of its value."""
    if isinstance(data, list):
        return [_hide_in_value(item, hide) for item in data]
    if not isinstance(data, dict):
        return data
    if data.get("__ptype") == SENSITIVE:
        return {**data, "__pvalue": hide(data.get("__pvalue"))}
    return {key: _hide_in_value(item, hide) for key, item in data.items()}


def _template_holes(value: Any) -> list[Any]:
    """The holes of a value, each as its path and itself, in canonical order."""
    paths = sorted({canonical.encode(path): path for path in unknown.holes(value)}.items())
    return [[list(path), {"__ptype": unknown.HOLE, "__pvalue": list(path)}] for _, path in paths]
