"""The module `network`: which configuration wins, for which tool it is written, and how files of an earlier instance are removed."""

import base64
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from precast.boot.capabilities import Capability
from precast.boot.network.renderers import netplan
from tests.unit.boot.modules import scratch
from tests.unit.boot.network.devices import add_device, install

V2 = {"version": 2, "ethernets": {"eth7": {"dhcp4": True}}}
NETPLAN = netplan.PATH


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return scratch.make_root(tmp_path)


def run(root: Path, given: Any = None, config: dict[str, Any] | None = None, **options: Any) -> scratch.ScratchRun:
    values = {} if given is None else {Capability.NETWORK_CONFIG: given}
    return scratch.run(config or {}, root, only=("network",), values=values, **options)


def test_network_of_the_source_is_written_for_what_is_installed(root: Path) -> None:
    install(root, "netplan")
    ran = run(root, V2)
    assert ran.errors == {}
    file = root / NETPLAN
    assert "eth7:" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_second_run_changes_nothing(root: Path) -> None:
    install(root, "networkd")
    assert run(root, V2).changes("network")
    assert run(root, V2).changes("network") == []


@pytest.mark.parametrize(
    ("installed", "order", "written"),
    [
        (("networkd", "eni"), None, "etc/network/interfaces.d/50-precast"),
        (("networkd", "netplan", "eni"), None, NETPLAN),
        (("networkd", "eni"), ["networkd", "eni"], "etc/systemd/network/10-precast-eth7.network"),
        (("network-manager", "networkd"), None, "etc/NetworkManager/system-connections/precast-eth7.nmconnection"),
        (("networkd",), ["sysconfig", "networkd"], "etc/systemd/network/10-precast-eth7.network"),
    ],
)
def test_tool_is_the_first_of_the_order_that_is_installed(
    root: Path, installed: tuple[str, ...], order: list[str] | None, written: str
) -> None:
    install(root, *installed)
    config = {"system_info": {"network": {"renderers": order}}} if order else {}
    assert run(root, V2, config).errors == {}
    assert (root / written).exists()


def test_without_a_tool_the_error_says_what_was_looked_for(root: Path) -> None:
    assert run(root, V2).errors["network"].code == "BOOTNET-020"


def test_files_of_an_earlier_network_are_removed_and_those_of_others_stay(root: Path) -> None:
    install(root, "networkd")
    run(root, {"version": 2, "ethernets": {"eth1": {"dhcp4": True}, "eth2": {"dhcp4": True}}})
    place = root / "etc/systemd/network"
    (place / "20-wired.network").write_text("[Match]\nName=eth9\n")
    (place / "10-precast-mine.network").write_text(
        "[Match]\nName=eth8\n"
    )  # has a name like ours, but not our first line
    run(root, {"version": 2, "ethernets": {"eth2": {"dhcp4": True}}})
    names = sorted(path.name for path in place.iterdir())
    assert names == ["10-precast-eth2.network", "10-precast-mine.network", "20-wired.network"]


def test_files_for_another_tool_are_removed(root: Path) -> None:
    install(root, "networkd")
    run(root, V2)
    install(root, "netplan")
    run(root, V2)
    assert list((root / "etc/systemd/network").iterdir()) == []


def test_dry_run_writes_nothing(root: Path) -> None:
    install(root, "netplan")
    assert run(root, V2, is_dry_run=True).changes("network")
    assert not (root / NETPLAN).exists()


def command_line(root: Path, word: str) -> None:
    (root / "proc").mkdir()
    (root / "proc/cmdline").write_text(f"quiet {word} ro\n")


def image(root: Path, text: str) -> None:
    (root / "etc/cloud/cloud.cfg.d").mkdir(parents=True)
    (root / "etc/cloud/cloud.cfg.d/90-network.cfg").write_text(text)


def test_user_data_cannot_configure_the_network(root: Path) -> None:
    install(root, "netplan")
    ran = run(root, V2, {"network": {"version": 2, "ethernets": {"eth5": {"dhcp4": True}}}})
    assert [finding.location for finding in ran.findings] == ["network"]
    assert "eth7:" in (root / NETPLAN).read_text()


def test_kernel_command_line_wins_over_every_other_source(root: Path) -> None:
    install(root, "netplan")
    document = base64.b64encode(b"version: 2\nethernets: {eth3: {dhcp4: true}}\n").decode()
    command_line(root, f"network-config={document}")
    image(root, "network: {version: 2, ethernets: {eth5: {dhcp4: true}}}\n")
    run(root, V2)
    assert "eth3:" in (root / NETPLAN).read_text()


@pytest.mark.parametrize("where", ["command line", "image", "source", "source, below network"])
def test_disabled_network_stays_unchanged(root: Path, where: str) -> None:
    install(root, "netplan")
    add_device(root, "ens3")
    if where == "command line":
        command_line(root, "network-config=disabled")
    elif where == "image":
        image(root, "network: {config: disabled}\n")
    disabled = {"config": "disabled"}
    given = {"source": disabled, "source, below network": {"network": disabled}}.get(where, V2)
    ran = run(root, given)
    assert "disabled" in (ran.outcomes["network"].not_run or "")
    assert not (root / NETPLAN).exists()


def test_image_wins_over_the_source(root: Path) -> None:
    install(root, "netplan")
    image(root, "network: {version: 2, ethernets: {eth5: {dhcp4: true}}}\n")
    run(root, V2)
    assert "eth5:" in (root / NETPLAN).read_text()


def test_without_a_configuration_the_first_device_uses_dhcp(root: Path) -> None:
    install(root, "netplan")
    add_device(root, "ens3")
    run(root)
    assert "ens3:" in (root / NETPLAN).read_text()


def test_machine_without_devices_has_no_network(root: Path) -> None:
    install(root, "netplan")
    assert run(root).outcomes["network"].not_run == "there is no network device"


def test_broken_document_is_an_error_and_nothing_is_written(root: Path) -> None:
    install(root, "netplan")
    ran = run(root, {"version": 2, "ethernets": {"eth0": {"mtu": "big"}}})
    assert ran.errors["network"].code == "BOOTNET-001"
    assert not (root / NETPLAN).exists()


BAD = {"version": 2, "ethernets": {"eth0": {"mtu": "big"}}}


def test_refused_network_leaves_dhcp_and_says_so(root: Path) -> None:
    install(root, "netplan")
    add_device(root, "ens3")
    ran = run(root, BAD)
    error = ran.errors["network"]
    assert error.code == "BOOTNET-012"
    assert error.message.startswith(
        "the network configuration of the data source is invalid: ethernets.eth0.mtu: big is not"
    )
    assert error.message.endswith("; DHCP on the first device with a carrier is used instead")
    assert "ens3:" in (root / NETPLAN).read_text()


@pytest.mark.parametrize("word", ["network-config=%%%", "network-config=eDogeQ==", "network-config=H4sI"])
def test_refused_command_line_leads_to_the_next_candidate(root: Path, word: str) -> None:
    install(root, "netplan")
    add_device(root, "ens3")
    command_line(root, word)
    error = run(root, V2).errors["network"]
    assert error.message.startswith("the network configuration of the kernel's command line is invalid: ")
    assert error.message.endswith("; the data source is used instead")
    assert "eth7:" in (root / NETPLAN).read_text()


def test_last_value_on_the_command_line_wins_and_may_be_compressed(root: Path) -> None:
    install(root, "netplan")
    document = base64.b64encode(gzip.compress(b"version: 2\nethernets: {eth3: {dhcp4: true}}\n")).decode()
    command_line(root, f"network-config=disabled network-config={document}")
    assert run(root, V2).errors == {}
    assert "eth3:" in (root / NETPLAN).read_text()


STATIC = """DEVICE='ens3'
PROTO='none'
IPV4ADDR='10.0.0.5'
IPV4BROADCAST='10.0.0.255'
IPV4NETMASK='255.255.255.0'
IPV4GATEWAY='10.0.0.1'
IPV4DNS0='10.0.0.2'
IPV4DNS1='0.0.0.0'
HOSTNAME='x'
DOMAINSEARCH='a.example, b.example'
"""


def initramfs(root: Path, **files: str) -> None:
    (root / "run").mkdir(exist_ok=True)
    for name, text in files.items():
        (root / "run" / f"{name.replace('_', '-')}.conf").write_text(text)


def test_network_of_the_initramfs_wins_over_image_and_source(root: Path) -> None:
    install(root, "networkd")
    add_device(root, "ens3")
    command_line(root, "ip=10.0.0.5::10.0.0.1:255.255.255.0:x:ens3:none")
    initramfs(root, net_ens3=STATIC, net6_ens3="DEVICE6=ens3\nIPV6PROTO=dhcp6\nIPV6ADDR=2001:db8::5\nIPV6NETMASK=64\n")
    image(root, "network: {version: 2, ethernets: {eth5: {dhcp4: true}}}\n")
    assert run(root, V2).errors == {}
    text = (root / "etc/systemd/network/10-precast-ens3.network").read_text()
    for line in ("Address=10.0.0.5/24", "Gateway=10.0.0.1", "DNS=10.0.0.2", "Domains=a.example b.example", "DHCP=ipv6"):
        assert line in text


def test_files_of_the_initramfs_without_an_ip_parameter_are_ignored(root: Path) -> None:
    install(root, "netplan")
    initramfs(root, net_ens3=STATIC)
    run(root, V2)
    assert "eth7:" in (root / NETPLAN).read_text()


def test_files_of_the_initramfs_are_files_below_the_root(root: Path, tmp_path: Path) -> None:
    install(root, "netplan")
    command_line(root, "ip=dhcp")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "net-ens3.conf").write_text(STATIC)
    (root / "run").symlink_to(elsewhere)
    assert run(root, V2).errors == {}
    assert "eth7:" in (root / NETPLAN).read_text()
    (root / "run").unlink()
    (root / "run").mkdir()
    (root / "run/net-ens3.conf").symlink_to(elsewhere / "net-ens3.conf")
    os.mkfifo(root / "run/net-ens4.conf")  # no process writes to it
    assert run(root, V2).errors == {}


@pytest.mark.parametrize("text", ["", "DEVICE='ens3\n", "DEVICE=ens3\nPROTO=bootp\nIPV4ADDR=1.2.3.4\n"])
def test_invalid_file_of_the_initramfs_leads_to_the_next_candidate(root: Path, text: str) -> None:
    install(root, "netplan")
    command_line(root, "ip=dhcp")
    initramfs(root, net_ens3=text)
    assert run(root, V2).errors["network"].message.startswith("the network configuration of the initramfs is invalid: ")
    assert "eth7:" in (root / NETPLAN).read_text()


def test_on_oracle_the_data_source_wins_over_the_initramfs(root: Path) -> None:
    install(root, "netplan")
    command_line(root, "ip=dhcp")
    initramfs(root, net_ens3=STATIC)
    values = {Capability.NETWORK_CONFIG: V2, Capability.PLATFORM: "oracle"}
    assert scratch.run({}, root, only=("network",), values=values).errors == {}
    assert "eth7:" in (root / NETPLAN).read_text()


def test_command_line_that_is_not_base64_is_an_error(root: Path) -> None:
    command_line(root, "network-config=%%%")
    assert "base64" in run(root).errors["network"].message


def test_warnings_are_reported(root: Path) -> None:
    install(root, "networkd")
    ran = run(root, {**V2, "wifis": {"wlan0": {"access-points": {"a": {"password": "p"}}}}})
    assert ran.warnings == [text for text in ran.warnings if text.startswith("only netplan supports wifis")] != []
