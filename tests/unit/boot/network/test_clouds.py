"""The network metadata of clouds is converted to version 2, which is read without warnings."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from precast.boot.network.model import Network
from precast.boot.network.readers import clouds, documents, openstack
from tests.unit.boot.network.renderings import RENDERERS


def sample(name: str) -> Any:
    """The constants of a data source's sample."""
    place = Path(os.environ.get("PRECAST_CORPORA", "")) / "cloud-init" / "datasource-samples" / f"{name}.json"
    if "PRECAST_CORPORA" not in os.environ or not place.exists():
        pytest.skip("PRECAST_CORPORA names no directory with samples of data sources")
    return json.loads(place.read_text())["constants"]


def read(document: dict[str, Any]) -> Network:
    network = documents.read_value("metadata", document)
    assert network.warnings == ()
    for render in RENDERERS.values():
        assert render(network).files
    return network


def test_openstack_bond_and_vlans() -> None:
    network = read(openstack.convert_to_v2(sample("test_configdrive")["NETWORK_DATA_BOND"]))
    assert [device.id for device in network.devices] == ["eth0", "eth1", "bond0", "bond0.602", "bond0.612"]
    bond, vlan = network.devices[2:4]
    assert bond.parameters == {"mode": "802.3ad", "mii-monitor-interval": 100, "transmit-hash-policy": "layer3+4"}
    assert (bond.interfaces, bond.mac) == (("eth0", "eth1"), "fa:16:3e:b3:72:36")
    assert (vlan.vlan_id, vlan.vlan_link, vlan.addresses) == (602, "bond0", ("2.2.2.13/29",))
    assert [(route.to, route.via) for route in vlan.routes] == [("0.0.0.0/0", "2.2.2.9")]
    assert vlan.nameservers == ("1.1.1.191", "1.1.1.4")


@pytest.mark.parametrize("name", ["NETWORK_DATA", "NETWORK_DATA_2", "NETWORK_DATA_3", "NETWORK_DATA_VLAN"])
def test_openstack_samples_have_all_their_links(name: str) -> None:
    data = sample("test_configdrive")[name]
    network = read(openstack.convert_to_v2(data))
    assert len(network.devices) == len(data["links"])
    assert sum(bool(device.has_ip) for device in network.devices) == len(
        {network["link"] for network in data["networks"]}
    )


def test_openstack_without_links_is_empty() -> None:
    assert (
        documents.read_value("x", openstack.convert_to_v2({"links": [], "networks": [], "services": []})).devices == ()
    )


def test_ec2_further_addresses_are_set_and_the_first_device_is_preferred() -> None:
    constants = sample("test_ec2")
    macs = {nic["mac"]: nic for nic in (constants["NIC2_MD"], constants["NIC1_MD_IPV4_IPV6_MULTI_IP"])}
    first, second = read(clouds.convert_ec2(macs)).devices
    assert first.match is not None
    assert first.match.mac == "0a:07:84:3d:6e:38"
    assert (first.dhcp4, first.dhcp6, first.overrides4.route_metric, second.overrides4.route_metric) == (
        True,
        True,
        100,
        200,
    )
    assert first.addresses[0] == "172.31.45.70/20"
    assert len(first.addresses) == 3
    assert not second.dhcp6


def test_ec2_with_ipv6_only_has_no_dhcp4() -> None:
    macs = sample("test_ec2")["MULTI_NIC_V6_ONLY_MD"]["macs"]
    network = read(clouds.convert_ec2(macs))
    assert [(device.dhcp4, device.dhcp6, device.match and device.match.mac) for device in network.devices] == [
        (False, True, "02:7c:03:b8:5c:af"),
        (False, True, "02:6b:df:a2:4b:2b"),
    ]


def test_digitalocean_only_public_interfaces_lead_out() -> None:
    public, private = read(clouds.convert_digitalocean(sample("test_digitalocean")["DO_META"])).devices
    assert public.addresses == ("192.0.0.20/24", "2604:a880:800:0:1000::/64", "10.0.0.5/16")
    assert [(route.to, route.via) for route in public.routes] == [
        ("0.0.0.0/0", "104.236.0.1"),
        ("::/0", "2604:a880:800::1"),
    ]
    assert (private.addresses, private.routes) == (("10.132.6.205/16",), ())


def test_hetzner_private_networks_are_added() -> None:
    constants = sample("test_hetzner")
    # The sample's own text has tabs and quotes in places where YAML has none; the part that is network config is fine.
    text = constants["METADATA"].split("network-config:\n")[1].split("network-sysconfig")[0]
    private = yaml.safe_load(constants["PRIVATE_NETWORKS"])
    first, second = read(clouds.convert_hetzner(yaml.safe_load(text), private)).devices
    assert (first.id, first.dhcp4, first.addresses) == ("eth0", True, ("2a01:4f8:beef:beef::1/64",))
    assert (second.id, second.dhcp4, second.match and second.match.mac) == ("eth1", True, "86:00:00:aa:5d:f8")


def test_vultr_is_what_its_own_tests_expect() -> None:
    first, second = read(clouds.convert_vultr(sample("test_vultr")["VULTR_V1_2"]["interfaces"])).devices
    assert (first.dhcp4, first.accept_ra, first.addresses) == (True, True, ("2002:19f0:5:28a7::/64",))
    assert (second.dhcp4, second.addresses) == (False, ("10.1.112.3/20",))


def test_azure_only_the_first_device_is_asked_for_names() -> None:
    constants = sample("test_azure")
    both = [*constants["NETWORK_METADATA"]["network"]["interface"], constants["SECONDARY_INTERFACE"]]
    first, second = read(clouds.convert_azure({"interface": both})).devices
    assert first.match is not None
    assert first.match.mac == "00:0d:3a:04:75:98"
    assert (first.overrides4.use_dns, second.overrides4.use_dns) == (None, False)
    without = read(clouds.convert_azure({"interface": [both[0], constants["SECONDARY_INTERFACE_NO_IP"]]}))
    assert len(without.devices) == 1


@pytest.mark.parametrize(
    "name", ["OPC_BM_SECONDARY_VNIC_RESPONSE", "OPC_VM_SECONDARY_VNIC_RESPONSE", "OPC_IPV6_VM_VNIC_RESPONSE"]
)
def test_oracle_samples_are_read(name: str) -> None:
    vnics = json.loads(sample("test_oracle")[name])
    network = read(clouds.convert_oracle(vnics))
    assert network.devices[0].dhcp4 is ("privateIp" in vnics[0])
    assert all(device.addresses for device in network.devices[1:])


@pytest.mark.parametrize(
    ("name", "path"),
    [("test_cloudcix", "NETWORK_CONFIG"), ("test_lxd", "NETWORK_V1"), ("test_oracle", "KLIBC_NET_CFG"),
     ("test_vultr", "EXPECTED_VULTR_NETWORK_2")],
)  # fmt: skip
def test_documents_that_are_version_1_or_2_are_read_as_they_are(name: str, path: str) -> None:
    assert read(sample(name)[path]).devices


def examples() -> list[Path]:
    place = Path(os.environ.get("PRECAST_CORPORA", "")) / "cloud-init" / "examples"
    return sorted(place.glob("network-config-*.yaml")) if "PRECAST_CORPORA" in os.environ else []


@pytest.mark.skipif(not examples(), reason="PRECAST_CORPORA names no directory with network examples")
@pytest.mark.parametrize("path", examples(), ids=lambda path: path.stem)
def test_every_network_example_is_read_and_rendered(path: Path) -> None:
    network = documents.read_text(path.name, path.read_text())
    assert [error.code for error in network.warnings] == (["BOOTNET-006"] if path.stem.endswith("-route") else [])
    for render in RENDERERS.values():
        files, warnings = render(network)
        assert files
        assert warnings == []


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("ipv6_dhcp", {"dhcp6": True, "accept-ra": True}),
        ("ipv6_dhcpv6-stateful", {"dhcp6": True, "accept-ra": True}),
        ("ipv6_dhcpv6-stateless", {"accept-ra": True}),
        ("ipv6_slaac", {"accept-ra": True}),
        ("ipv6", {"addresses": ["2001:db8::5/64"], "accept-ra": False}),
    ],
)
def test_openstack_says_whether_routers_are_heard(kind: str, wanted: dict[str, Any]) -> None:
    network = {"type": kind, "link": "t", "ip_address": "2001:db8::5/64"}
    mac = "fa:16:3e:00:00:01"
    document = openstack.convert_to_v2(
        {"links": [{"id": "t", "type": "ovs", "ethernet_mac_address": mac}], "networks": [network]}
    )
    assert document["ethernets"]["t"] == {"match": {"macaddress": mac}, **wanted}
    read(document)


def test_vultr_leaves_out_what_is_not_to_be_configured_and_has_routes() -> None:
    way = {"network": "10.5.0.0", "netmask": "255.255.0.0", "gateway": "10.1.0.1"}
    second: dict[str, Any] = {
        "mac": "56:00:00:00:00:02",
        "mtu": 1450,
        "ipv4": {"address": "10.1.0.3", "netmask": "255.255.0.0"},
    }
    nics = [
        {"mac": "56:00:00:00:00:01"},
        {**second, "routes": [way]},
        {"mac": "56:00:00:00:00:03", "unconfigured": True},
    ]
    first, device = read(clouds.convert_vultr(nics)).devices
    assert first.dhcp4
    assert (device.mtu, device.addresses) == (1450, ("10.1.0.3/16",))
    assert [(route.to, route.via) for route in device.routes] == [("10.5.0.0/16", "10.1.0.1")]


def test_oracle_bare_metal_has_one_device() -> None:
    vnics = [{"macAddr": "90:E2:BA:00:00:01", "privateIp": "10.0.0.8", "nicIndex": 0}]
    vnics += [
        {"macAddr": "02:00:17:00:00:01", "privateIp": "10.0.4.5", "nicIndex": 0, "subnetCidrBlock": "10.0.4.0/24"}
    ]
    (device,) = read(clouds.convert_oracle(vnics)).devices
    assert device.dhcp4
