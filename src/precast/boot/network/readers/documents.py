"""Reads a network configuration of version 1 or 2, from a text or from values of a cloud's answer."""

from collections.abc import Mapping
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.boot.network import issues
from precast.boot.network.model import Network
from precast.boot.network.readers import v1, v2
from precast.boot.network.readers.fields import Document, Field
from precast.boot.userdata import yaml_text

_READERS = {1: v1.read, 2: v2.read}


def read_text(name: str, text: str) -> Network:
    """Read the network that a YAML or JSON text describes. Raises InputError with the position."""
    source = Source(name, text)
    loaded = yaml_text.load(source)
    return read_document(Document(name, loaded.value, source, loaded.offsets))


def read_value(name: str, value: Any) -> Network:
    """Read the network from values that are already parsed, as a part of a larger document."""
    return read_document(Document(name, value))


def read_document(document: Document) -> Network:
    """Read a network config of version 1 or 2, at the top or below `network`."""
    warnings: list[PrecastError] = []
    top = Field(document, document.value, (), warnings)
    if isinstance(document.value, Mapping) and "network" in document.value and "version" not in document.value:
        top = top.need("network")
    version = top.value.get("version") if isinstance(top.value, Mapping) else None
    if not isinstance(version, int) or isinstance(version, bool) or version not in _READERS:
        at = top.get("version") if isinstance(top.value, Mapping) else None
        raise (at or top).error(issues.UNKNOWN_VERSION, name=document.name)
    return _READERS[version](top)
