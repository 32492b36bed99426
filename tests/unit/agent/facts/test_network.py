"""`networking` of machines with all kinds of networks."""

from pathlib import Path

import pytest

from precast.agent.facts.groups import network
from precast.agent.facts.machine import Address, Facts, Link
from tests.unit.agent.facts.roots import FakeKernel, machine

LO = Link(1, "lo", "00:00:00:00:00:00", 65536)
ETH0 = Link(2, "eth0", "52:54:00:12:34:56", 1500)
ROUTE = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "{name}\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
)


def networking(root: Path, files: dict[str, str], links: list[Link], addresses: list[Address]) -> Facts:
    kernel = FakeKernel(links=links, addresses=addresses)
    facts: Facts = network.collect(machine(root, files, kernel=kernel)).get("networking", {})
    return facts


def test_networking_of_a_usual_machine_has_the_primary_interface_at_the_top(tmp_path: Path) -> None:
    addresses = [
        Address("lo", "127.0.0.1", 8),
        Address("eth0", "169.254.7.7", 16),
        Address("eth0", "10.0.0.5", 24),
        Address("eth0", "fe80::5054:ff:fe12:3456", 64, 0x80),
        Address("eth0", "2001:db8::5", 64, 0x81),
    ]
    files = {"/proc/net/route": ROUTE.format(name="eth0"), "/proc/sys/kernel/hostname": "web1\n"}
    facts = networking(tmp_path, files, [LO, ETH0], addresses)
    interfaces = facts.pop("interfaces")
    assert facts == {
        "hostname": "web1",
        "fqdn": "web1",
        "primary": "eth0",
        "mac": "52:54:00:12:34:56",
        "mtu": 1500,
        "ip": "10.0.0.5",
        "netmask": "255.255.255.0",
        "network": "10.0.0.0",
        "ip6": "2001:db8::5",
        "netmask6": "ffff:ffff:ffff:ffff::",
        "network6": "2001:db8::",
        "scope6": "global",
    }
    assert "mac" not in interfaces["lo"]
    assert interfaces["eth0"]["bindings6"][1] == {
        "address": "2001:db8::5",
        "netmask": "ffff:ffff:ffff:ffff::",
        "network": "2001:db8::",
        "scope6": "global",
        "flags": ["temporary", "permanent"],
    }


def test_networking_with_ipv6_only_finds_the_primary_interface_by_its_route(tmp_path: Path) -> None:
    zero = "0" * 32
    files = {
        "/proc/net/ipv6_route": (
            f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
            f"{zero} 00 {zero} 00 {zero} 00000800 00000001 00000000 00200200     eth1\n"
            f"{zero} 00 {zero} 00 {zero} 00000400 00000001 00000000 00200200     eth0\n"
        )
    }
    facts = networking(tmp_path, files, [LO, ETH0, Link(3, "eth1", "", 1500)], [Address("eth0", "fd00::5", 64)])
    assert (facts["primary"], facts["ip6"], "ip" in facts) == ("eth0", "fd00::5", False)


def test_networking_without_a_route_takes_the_first_reachable_interface(tmp_path: Path) -> None:
    addresses = [Address("lo", "127.0.0.1", 8), Address("eth0", "192.0.2.1", 32)]
    assert networking(tmp_path, {}, [LO, ETH0], addresses)["primary"] == "eth0"


def test_networking_with_nothing_but_loopback_has_no_primary_interface(tmp_path: Path) -> None:
    facts = networking(tmp_path, {}, [LO], [Address("lo", "127.0.0.1", 8)])
    assert facts.keys() == {"interfaces"}


def test_networking_without_any_source_is_absent(tmp_path: Path) -> None:
    assert network.collect(machine(tmp_path)) == {}


def test_networking_of_an_image_is_read_from_files(tmp_path: Path) -> None:
    files = {
        "/sys/class/net/eth0/address": "52:54:00:12:34:56\n",
        "/sys/class/net/eth0/mtu": "9000\n",
        "/sys/class/net/eth0/ifindex": "2\n",
        "/sys/class/net/bonding_masters": "bond0\n",
        "/proc/net/if_inet6": "20010db8000000000000000000000005 02 40 00 80     eth0\nbroken line\n",
    }
    facts = network.collect(machine(tmp_path, files))["networking"]
    assert facts["interfaces"].keys() == {"eth0"}
    assert (facts["primary"], facts["ip6"], facts["mtu"]) == ("eth0", "2001:db8::5", 9000)


def test_route_through_a_missing_interface_is_ignored(tmp_path: Path) -> None:
    files = {"/proc/net/route": ROUTE.format(name="tun7")}
    assert networking(tmp_path, files, [ETH0], [Address("eth0", "192.0.2.1", 24)])["primary"] == "eth0"


def test_member_of_a_bond_has_its_own_mac(tmp_path: Path) -> None:
    files = {
        "/proc/net/bonding/bond0": (
            "Bonding Mode: load balancing\n\nSlave Interface: eth0\nMII Status: up\n"
            "Permanent HW addr: 52:54:00:AA:AA:AA\n\nSlave Interface: eth1\nMII Status: up\n"
            "Permanent HW addr: 52:54:00:bb:bb:bb\n"
        )
    }
    bond = "52:54:00:cc:cc:cc"
    links = [Link(2, "eth0", bond, 1500, 4), Link(3, "eth1", bond, 1500, 4), Link(4, "bond0", bond, 1500)]
    interfaces = networking(tmp_path, files, links, [])["interfaces"]
    assert [interfaces[name]["mac"] for name in ("eth0", "eth1", "bond0")] == [
        "52:54:00:aa:aa:aa",
        "52:54:00:bb:bb:bb",
        bond,
    ]


def test_alias_of_an_interface_is_an_interface_with_a_binding_only(tmp_path: Path) -> None:
    interfaces = networking(tmp_path, {}, [ETH0], [Address("eth0:1", "192.0.2.9", 24)])["interfaces"]
    assert interfaces["eth0:1"]["ip"] == "192.0.2.9"
    assert "mtu" not in interfaces["eth0:1"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/sys/kernel/hostname": "web1.example.org\n"}, ("web1", "example.org", "web1.example.org")),
        (
            {"/proc/sys/kernel/hostname": "web1\n", "/etc/hosts": "127.0.0.1 web1\n10.0.0.5 web1.a.example web1 # x\n"},
            ("web1", "a.example", "web1.a.example"),
        ),
        (
            {"/proc/sys/kernel/hostname": "web1\n", "/etc/resolv.conf": "search b.example c.example\n"},
            ("web1", "b.example", "web1.b.example"),
        ),
        (
            {"/proc/sys/kernel/hostname": "web1\n", "/etc/resolv.conf": "search b.example\ndomain d.example\n"},
            ("web1", "d.example", "web1.d.example"),
        ),
        ({"/proc/sys/kernel/hostname": "web1\n", "/etc/resolv.conf": "search .\n"}, ("web1", None, "web1")),
        ({"/etc/hostname": "image\n"}, ("image", None, "image")),
        ({"/proc/sys/kernel/hostname": "knöten-7\n"}, ("knöten-7", None, "knöten-7")),
        ({"/proc/sys/kernel/hostname": "(none)\n", "/etc/hostname": "image\n"}, ("image", None, "image")),
        ({"/proc/sys/kernel/hostname": "web1.\n"}, ("web1", None, "web1")),
    ],
)
def test_names_come_from_the_first_file_that_has_them(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, str | None, str]
) -> None:
    facts = network.hostnames(machine(tmp_path, files))
    assert (facts["hostname"], facts.get("domain"), facts["fqdn"]) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/run/systemd/netif/leases/2", "# private\nADDRESS=10.0.0.5\nSERVER_ADDRESS=10.0.0.1\n"),
        (
            "/var/lib/dhcp/dhclient.eth0.leases",
            "".join(
                f'lease {{\n  interface "eth0";\n  option dhcp-server-identifier 10.0.0.{n};\n}}\n' for n in (9, 1)
            ),
        ),
        ("/var/lib/NetworkManager/internal-0815-eth0.lease", "SERVER_ADDRESS=10.0.0.1\n"),
    ],
)
def test_dhcp_server_is_read_from_the_lease_of_any_client(tmp_path: Path, path: str, text: str) -> None:
    other = Link(3, "eth00", "", 1500)
    interfaces = networking(tmp_path, {path: text}, [ETH0, other], [])["interfaces"]
    assert interfaces["eth0"]["dhcp"] == "10.0.0.1"
    assert "dhcp" not in interfaces["eth00"]
