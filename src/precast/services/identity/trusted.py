"""What a manifest sees as `trusted`: only what a node's certificate says."""

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
