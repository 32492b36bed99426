"""Network config of version 1 and 2 is read into one model; an error has its position."""

import pytest

from precast.base.errors import PrecastError
from precast.boot.network.model import Kind, Network, Route, Start
from precast.boot.network.readers import documents


def read(text: str) -> Network:
    return documents.read_text("network-config", text)


def refused(text: str) -> PrecastError:
    with pytest.raises(PrecastError) as caught:
        read(text)
    return caught.value


def v1(subnet: str) -> Network:
    return read(f"version: 1\nconfig: [{{type: physical, name: eth0, subnets: [{subnet}]}}]")


def v2(device: str) -> Network:
    return read(f"version: 2\nethernets: {{eth0: {device}}}")


@pytest.mark.parametrize(
    ("subnet", "addresses"),
    [
        ("{type: static, address: 192.0.2.1/27}", ("192.0.2.1/27",)),
        ("{type: static, address: 192.0.2.1, netmask: 255.255.240.0}", ("192.0.2.1/20",)),
        ("{type: static, address: 192.0.2.1, netmask: 20}", ("192.0.2.1/20",)),
        ("{type: static, address: 192.0.2.1}", ("192.0.2.1/24",)),
        ("{type: static6, address: '2001:db8::1'}", ("2001:db8::1/64",)),
        ("{type: static6, address: '2001:db8::1', netmask: 'ffff:ffff::'}", ("2001:db8::1/32",)),
        ("{address: 192.0.2.1/27}", ("192.0.2.1/27",)),
        ("{type: manual}", ()),
    ],
)
def test_addresses_of_version_1_get_their_prefix(subnet: str, addresses: tuple[str, ...]) -> None:
    assert v1(subnet).devices[0].addresses == addresses


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dhcp", (True, False, None)),
        ("dhcp4", (True, False, None)),
        ("dhcp6", (False, True, None)),
        ("ipv6_dhcpv6-stateful", (False, True, None)),
        ("ipv6_dhcpv6-stateless", (False, False, True)),
        ("ipv6_slaac", (False, False, True)),
        ("manual", (False, False, None)),
    ],
)
def test_types_of_version_1_say_how_addresses_are_got(word: str, expected: tuple[bool, bool, bool | None]) -> None:
    device = v1(f"{{type: {word}}}").devices[0]
    assert (device.dhcp4, device.dhcp6, device.accept_ra) == expected


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        ("{network: 10.0.0.0, netmask: 255.0.0.0, gateway: 192.0.2.9}", Route("10.0.0.0/8", "192.0.2.9")),
        ("{destination: 10.1.2.3/8, gateway: 192.0.2.9, metric: 4}", Route("10.0.0.0/8", "192.0.2.9", 4)),
        ("{network: 0.0.0.0, netmask: 0.0.0.0, gateway: 192.0.2.9}", Route("0.0.0.0/0", "192.0.2.9")),
        ("{network: '::', gateway: 'fe80::1'}", Route("::/0", "fe80::1")),
        ("{network: 0.0.0.0, gateway: 192.0.2.9}", Route("0.0.0.0/0", "192.0.2.9")),
        ("{network: 10.9.8.0, gateway: 192.0.2.9}", Route("10.9.8.0/24", "192.0.2.9")),
    ],
)
def test_routes_of_version_1_are_networks(route: str, expected: Route) -> None:
    assert v1(f"{{type: static, address: 192.0.2.1/24, routes: [{route}]}}").devices[0].routes == (expected,)


def test_device_with_a_mac_address_is_found_by_it_and_named() -> None:
    device = read("version: 1\nconfig: [{type: physical, name: lan, mac_address: '52:54:00:AA:BB:CC'}]").devices[0]
    assert device.match is not None
    assert (device.match.mac, device.set_name, device.name) == ("52:54:00:aa:bb:cc", "lan", "lan")


def test_servers_of_nobody_are_for_whoever_has_an_address_and_none() -> None:
    network = read(
        "version: 1\nconfig:\n"
        "- {type: physical, name: a, subnets: [{type: dhcp}]}\n"
        "- {type: physical, name: b, subnets: [{type: static, address: 10.0.0.1/8, dns_nameservers: [10.0.0.9]}]}\n"
        "- {type: physical, name: c}\n- {type: physical, name: d, subnets: [{type: dhcp}]}\n"
        "- {type: nameserver, address: 192.0.2.1, search: [x.example]}\n"
        "- {type: nameserver, interface: d, address: [192.0.2.2]}\n"
    )
    servers = {device.id: device.nameservers for device in network.devices}
    assert servers == {"a": ("192.0.2.1",), "b": ("10.0.0.9",), "c": (), "d": ("192.0.2.2",)}


def test_route_that_stands_alone_goes_to_who_reaches_its_gateway() -> None:
    network = read(
        "version: 1\nconfig:\n- {type: physical, name: a, subnets: [{type: static, address: 10.0.0.1/8}]}\n"
        "- {type: physical, name: b, subnets: [{type: static, address: 192.0.2.5/24}]}\n"
        "- {type: route, destination: 198.51.100.0/24, gateway: 192.0.2.1}\n"
    )
    assert [len(device.routes) for device in network.devices] == [0, 1]
    assert network.warnings == ()


def test_control_of_a_subnet_says_when_the_device_starts() -> None:
    assert v1("{type: dhcp, control: manual}").devices[0].start is Start.MANUAL


def test_keys_of_version_2_all_arrive() -> None:
    device = v2(
        "{dhcp4: 'yes', dhcp6: no, dhcp4-overrides: {use-domains: route}, mtu: 1400, optional: true, wakeonlan: true,"
        " match: {name: 'en*', driver: [virtio, e1000]}, gateway6: 'fe80::1', nameservers: {search: [a.example]},"
        " addresses: ['2001:db8::2/64'], link-local: [], critical: true, accept-ra: true}"
    ).devices[0]
    assert (device.kind, device.dhcp4, device.dhcp6, device.mtu, device.accept_ra) == (
        Kind.ETHERNET,
        True,
        False,
        1400,
        True,
    )
    assert (device.overrides4.use_domains, device.link_local, device.search) == ("route", (), ("a.example",))
    assert device.match is not None
    assert (device.match.name, device.match.drivers) == ("en*", ("virtio", "e1000"))
    assert device.routes == (Route("::/0", "fe80::1"),)
    assert (device.is_optional, device.is_critical, device.has_wakeonlan) == (True, True, True)


def test_parameters_of_both_versions_have_the_same_names() -> None:
    first = read(
        "version: 1\nconfig: [{type: bond, name: b, bond_interfaces: [], params: {bond-miimon: 100, bond_mode: '4'}}]"
    )
    second = read("version: 2\nbonds: {b: {interfaces: [], parameters: {mii-monitor-interval: 100, mode: 802.3ad}}}")
    assert first.devices[0].parameters == second.devices[0].parameters
    assert (first.warnings, second.warnings) == ((), ())


def test_one_cost_is_the_cost_of_every_port() -> None:
    network = read(
        "version: 2\nethernets: {a: {}, b: {}}\nbridges: {br: {interfaces: [a, b], parameters: {path-cost: 7}}}\n"
    )
    assert network.devices[2].parameters == {"path-cost": {"a": 7, "b": 7}}


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("version: 3\n", "network-config:1:1", "BOOTNET-004"),
        ("[1, 2]\n", "network-config:1:1", "BOOTNET-004"),
        ("version: [1]\n", "network-config:1:1", "BOOTNET-004"),
        ("version: 1\n", "network-config:1:1", "BOOTNET-003"),
        ("version: 1\nconfig:\n  - type: fysical\n", "network-config:3:5", "BOOTNET-001"),
        ("version: 1\nconfig:\n  - type: physical\n", "network-config:3:5", "BOOTNET-003"),
        ("version: 1\nconfig:\n  - {type: vlan, name: v, vlan_id: 5000, vlan_link: e}\n", "network-config:3:27", "BOOTNET-001"),
        ("version: 1\nconfig:\n  - {type: bond, name: b, bond_interfaces: [x]}\n", "network-config:3:45", "BOOTNET-005"),
        ("version: 2\nethernets:\n  eth0:\n    addresses: [192.0.2.1]\n", "network-config:4:17", "BOOTNET-001"),
        ("version: 2\nethernets:\n  eth0:\n    mtu: big\n", "network-config:4:5", "BOOTNET-001"),
        ("version: 2\nethernets:\n  eth0:\n    match: {macaddress: nine}\n", "network-config:4:13", "BOOTNET-001"),
        ("version: 2\nvlans:\n  v7:\n    id: 7\n    link: eth7\n", "network-config:5:5", "BOOTNET-005"),
        ("version: 2\nethernets:\n  eth0:\n    routes: [{via: 192.0.2.1}]\n", "network-config:4:14", "BOOTNET-003"),
        ("version: 2\nethernets: {'eth0 up': {}}\n", "network-config:2:13", "BOOTNET-001"),
        ("version: 2\nbonds: {bond-of-the-whole-house: {}}\n", "network-config:2:9", "BOOTNET-001"),
        ('version: 2\nethernets: {e: {nameservers: {search: ["a\\nb"]}}}\n', "network-config:2:40", "BOOTNET-001"),
        ("version: 2\nethernets: [eth0]\n", "network-config:2:1", "BOOTNET-001"),
        ("version: 2\n  ethernets: x\n", "network-config:2:12", "BOOT-300"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_a_hint(text: str, place: str, code: str) -> None:
    error = refused(text)
    assert error.render().startswith(f"{place}: error: "), error.render()
    assert (error.code, bool(error.hint)) == (code, True)


def test_unknown_key_is_a_warning_with_what_was_perhaps_meant() -> None:
    network = read("version: 2\nethernets:\n  eth0:\n    dhcp44: true\n    dhcp4: true\n")
    (warning,) = network.warnings
    assert warning.render().startswith(
        "network-config:4:5: error: ethernets.eth0 has no key dhcp44, did you mean dhcp4?"
    )
    assert network.devices[0].dhcp4


def test_values_without_a_text_are_refused_with_their_path() -> None:
    with pytest.raises(PrecastError) as caught:
        documents.read_value("openstack", {"version": 2, "ethernets": {"eth0": {"mtu": "big"}}})
    assert "ethernets.eth0.mtu: big is not a number from 1 to 65535" in caught.value.message
