"""Puts the values of secrets in the place of their references, as a run on a node does in memory.

A node is sent a value with its salt, and can tell by them that it is the value that the reference names (`secret_references`).
The value may have holes: the reference has pairs of a hole and of what the node has there, which were filled with the rest of its catalog.
"""

import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from precast.base import digests
from precast.catalog import unknown
from precast.catalog.body import Body, ResourceData
from precast.catalog.secret_references import is_reference, make_reference, references

SALT_BYTES = 32


def is_value_of(reference: str, salt: bytes, value: bytes) -> bool:
    """Whether a reference names this value, which is canonical JSON."""
    return len(salt) == SALT_BYTES and hmac.compare_digest(make_reference(salt, value), reference)


def find_references(body: Body) -> frozenset[str]:
    """Every reference in a catalog. Something else in the place of one is left out: it names no secret."""
    found = (ref for resource in body.resources for ref in references(resource.parameters))
    return frozenset(ref for ref in found if digests.is_digest(ref))


def fill_secrets(body: Body, values: Mapping[str, bytes]) -> Body:
    """The catalog with the values that are given by reference, as canonical JSON. References without a value stay as they are."""
    resources = tuple(_fill_resource(resource, values) for resource in body.resources)
    return msgspec.structs.replace(body, resources=resources)


def _fill_resource(resource: ResourceData, values: Mapping[str, bytes]) -> ResourceData:
    if next(references(resource.parameters), None) is None:
        return resource
    filled = {name: fill_value(value, values) for name, value in resource.parameters.items()}
    # As where a catalog is read: a parameter that turns out to be undef is one that was not given.
    parameters = {name: value for name, value in filled.items() if value is not None}
    return msgspec.structs.replace(resource, parameters=parameters)


def fill_value(data: Any, values: Mapping[str, bytes]) -> Any:
    """The data with the values in the place of their references, each with its holes filled."""
    if isinstance(data, list | tuple):
        return [fill_value(item, values) for item in data]
    if not isinstance(data, dict):
        return data
    if not is_reference(data):
        return {key: fill_value(item, values) for key, item in data.items()}
    value = values.get(str(data.get("__pvalue")))
    return data if value is None else _fill_holes(msgspec.json.decode(value), data.get("holes") or ())


def _fill_holes(value: Any, pairs: Any) -> Any:
    """The value with its holes filled. A hole without a pair stays one."""
    known = {tuple(hole): found for hole, found in pairs}

    def find(root: str, path: tuple[str | int, ...]) -> Any:
        return known.get((root, *path), {"__ptype": unknown.HOLE, "__pvalue": [root, *path]})

    return unknown.fill(value, find) if known else value
