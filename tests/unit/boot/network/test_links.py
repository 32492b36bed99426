"""The listing of devices, the choice of the fallback device, and the names that a match resolves to."""

from pathlib import Path

import pytest

from precast.boot.network.devices import device_names, links
from precast.boot.network.readers import documents
from tests.unit.boot.network.devices import add_device


def chosen(root: Path) -> str | None:
    link = links.choose_best(links.list_links(root))
    return link.name if link else None


def test_first_device_with_a_carrier_is_chosen(tmp_path: Path) -> None:
    add_device(tmp_path, "eth0", carrier="0")
    add_device(tmp_path, "eth10", carrier="1")
    add_device(tmp_path, "eth9", carrier="1")
    assert chosen(tmp_path) == "eth9"


def test_without_any_carrier_one_that_is_down_is_chosen(tmp_path: Path) -> None:
    add_device(tmp_path, "ens3", carrier=None)
    add_device(tmp_path, "eth0", carrier="0")
    assert chosen(tmp_path) == "ens3"


def test_eth0_comes_before_other_names(tmp_path: Path) -> None:
    for name in ("ens3", "eth0", "enp1s0"):
        add_device(tmp_path, name)
    assert chosen(tmp_path) == "eth0"


def test_devices_that_are_not_real_are_passed_over(tmp_path: Path) -> None:
    add_device(tmp_path, "lo", "00:00:00:00:00:00", type="772")
    add_device(tmp_path, "veth12ab")
    add_device(tmp_path, "eth0.7", uevent="DEVTYPE=vlan\nINTERFACE=eth0.7")
    for name, mark in (("br0", "bridge"), ("bond0", "bonding"), ("port1", "brport")):
        add_device(tmp_path, name)
        (tmp_path / "sys/class/net" / name / mark).mkdir()
    assert chosen(tmp_path) is None
    assert links.make_fallback(links.list_links(tmp_path)) is None


def test_root_without_devices_has_none(tmp_path: Path) -> None:
    assert links.list_links(tmp_path) == []


def test_fallback_is_dhcp_on_the_chosen_device(tmp_path: Path) -> None:
    add_device(tmp_path, "ens3")
    document = links.make_fallback(links.list_links(tmp_path))
    (device,) = documents.read_value("fallback", document).devices
    assert (device.name, device.dhcp4, device.match and device.match.mac) == ("ens3", True, "52:54:00:00:00:01")


@pytest.mark.parametrize(
    ("match", "names"),
    [
        ("{macaddress: '52:54:00:00:00:02'}", ["ens4"]),
        ("{name: 'ens*'}", ["ens3", "ens4"]),
        ("{name: 'ens*', macaddress: '52:54:00:00:00:02'}", ["ens4"]),
        ("{driver: virtio*}", ["ens4"]),
    ],
)
def test_match_stands_for_every_device_it_means(tmp_path: Path, match: str, names: list[str]) -> None:
    add_device(tmp_path, "ens3", "52:54:00:00:00:01")
    add_device(tmp_path, "ens4", "52:54:00:00:00:02")
    (tmp_path / "sys/class/net/ens4/device").mkdir()
    (tmp_path / "sys/class/net/ens4/device/driver").symlink_to("../../../bus/virtio/drivers/virtio_net")
    network = documents.read_text("n", f"version: 2\nethernets: {{nics: {{match: {match}, dhcp4: true}}}}")
    named = device_names.resolve_names(network, links.list_links(tmp_path), "eni")
    assert [device.name for device in named.devices] == names
    assert named.warnings == ()


def test_bond_of_matched_devices_has_their_names(tmp_path: Path) -> None:
    add_device(tmp_path, "ens3", "52:54:00:00:00:01")
    text = (
        "version: 2\nethernets: {a: {match: {macaddress: '52:54:00:00:00:01'}}}\n"
        "bonds: {bond0: {interfaces: [a]}}\nvlans: {v: {id: 3, link: a}}\n"
    )
    named = device_names.resolve_names(documents.read_text("n", text), links.list_links(tmp_path), "eni")
    assert (named.devices[1].interfaces, named.devices[2].vlan_link) == (("ens3",), "ens3")


def test_match_that_means_nothing_is_told(tmp_path: Path) -> None:
    network = documents.read_text("n", "version: 2\nethernets: {a: {match: {macaddress: '52:54:00:00:00:09'}}}")
    named = device_names.resolve_names(network, links.list_links(tmp_path), "eni")
    assert [error.code for error in named.warnings] == ["BOOTNET-008"]
    assert [device.id for device in named.devices] == ["a"]
