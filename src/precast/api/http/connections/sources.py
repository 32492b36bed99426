"""Where a connection comes from, as far as limits are concerned.

An IPv4 address is one source. In IPv6 a single machine usually has a whole /64 to itself, so that network is the source; a site has a /48,
which gets a limit of its own, a few times as high.
"""

import ipaddress
from functools import lru_cache
from typing import NamedTuple

# How much more a /48 may have than a /64.
WIDE_FACTOR = 4

_UNKNOWN = "of an unknown address"


class Source(NamedTuple):
    """The origin of connections: an IPv4 address or an IPv6 /64, and the IPv6 /48 around it, empty for IPv4."""

    key: str
    network: str = ""

    def __str__(self) -> str:
        return self.key


@lru_cache(maxsize=4096)
def source_of(address: str | None) -> Source:
    """The source of a connection from this address, which may be an IPv4 address inside an IPv6 one."""
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return Source(_UNKNOWN)
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if isinstance(parsed, ipaddress.IPv4Address):
        return Source(f"address {parsed}")
    narrow, wide = (ipaddress.ip_network((parsed, bits), strict=False) for bits in (64, 48))
    return Source(f"network {narrow}", f"network {wide}")
