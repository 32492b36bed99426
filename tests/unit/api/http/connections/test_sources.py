"""The source of a connection, for limits."""

import pytest

from precast.api.http.connections.sources import Source, source_of


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.1", Source("address 192.0.2.1")),
        ("::ffff:192.0.2.1", Source("address 192.0.2.1")),
        ("2001:db8:1:2:3:4:5:6", Source("network 2001:db8:1:2::/64", "network 2001:db8:1::/48")),
        ("2001:db8:1:2::ffff", Source("network 2001:db8:1:2::/64", "network 2001:db8:1::/48")),
        ("fe80::1%eth0", Source("network fe80::/64", "network fe80::/48")),
        ("", Source("of an unknown address")),
        (None, Source("of an unknown address")),
    ],
)
def test_source_is_an_ipv4_address_or_an_ipv6_network(address: str | None, source: Source) -> None:
    assert source_of(address) == source
