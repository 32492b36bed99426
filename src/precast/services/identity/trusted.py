"""The `trusted` data of a node in manifests: only what its certificate proves."""

from collections.abc import Mapping
from typing import Any


def trusted(name: str, extensions: Mapping[str, str]) -> dict[str, Any]:
    hostname, _, domain = name.partition(".")
    return {
        "authenticated": "remote",
        "certname": name,
        "domain": domain or None,
        "extensions": dict(extensions),
        "external": {},
        "hostname": hostname,
    }
