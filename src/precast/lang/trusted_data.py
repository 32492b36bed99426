"""The `trusted` data of a node in manifests: only what its certificate proves."""

from collections.abc import Mapping
from typing import Any, Literal


def trusted_data(
    certname: str, extensions: Mapping[str, str], authenticated: Literal["remote", "local"] = "remote"
) -> dict[str, Any]:
    """The data as Puppet has it. `local` says that no authority vouches for it: the compile is for the machine that it runs on."""
    hostname, _, domain = certname.partition(".")
    return {
        "authenticated": authenticated,
        "certname": certname,
        "extensions": dict(extensions),
        "hostname": hostname,
        "domain": domain or None,
        "external": {},
    }
