"""Every key of cloud-init's own schemas of network configuration is read, and every value that they allow is accepted."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import PrecastError
from precast.boot.network.readers import documents

PLACE = Path(os.environ.get("PRECAST_CORPORA", "/nowhere")) / "cloud-init" / "schemas"
pytestmark = pytest.mark.skipif(
    not (PLACE / "schema-network-config-v1.json").exists(), reason="PRECAST_CORPORA names no directory with schemas"
)
# Valid values of keys, where the type alone does not determine one.
VALUES: dict[str, Any] = {
    "mac_address": "52:54:00:00:00:09",
    "macaddress": "52:54:00:00:00:09",
    "bridge_hw": "52:54:00:00:00:09",
    "address": "192.0.2.9",
    "addresses": ["192.0.2.9/24"],
    "netmask": "255.255.255.0",
    "broadcast": "192.0.2.255",
    "gateway": "192.0.2.1",
    "gateway4": "192.0.2.1",
    "gateway6": "2001:db8::1",
    "destination": "198.51.100.0/24",
    "network": "198.51.100.0/24",
    "via": "192.0.2.1",
    "to": "198.51.100.0/24",
    "dns_nameservers": ["192.0.2.53"],
    "nameservers": {"addresses": ["192.0.2.53"], "search": ["example.net"]},
    "bond_interfaces": ["eth0"],
    "bridge_interfaces": ["eth0"],
    "interfaces": ["eth0"],
    "interface": "eth0",
    "vlan_link": "eth0",
    "link": "eth0",
    "name": "eth9",
    "set-name": "eth9",
    "use-domains": "route",
    "bond-arp_ip_target": "192.0.2.1",
    "arp-ip-targets": ["192.0.2.1"],
    "bridge_pathcost": ["eth0 5"],
    "bridge_portprio": ["eth0 5"],
    "bridge_waitport": ["eth0 5"],
    "path-cost": 5,
    "bond-all_slaves_active": "1",
    "bond-resend_igmp": "1",
    "bond-updelay": "100",
    "mii-monitor-interval": "100",
    "learn-packet-interval": "1",
}


# Values of the schema that the kernel's bonds do not support: they are refused.
OPEN_VSWITCH = ("balance-tcp", "balance-slb")


class Schema:
    def __init__(self, version: int) -> None:
        self._whole = json.loads((PLACE / f"schema-network-config-v{version}.json").read_text())

    def definition(self, name: str) -> dict[str, Any]:
        definition = self._plain(self._whole["$defs"][name])
        for part in definition.get("allOf", []):
            definition = {
                **definition,
                "properties": {**self._plain(part).get("properties", {}), **definition["properties"]},
            }
        return definition

    def _plain(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self._whole["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def examples(self, key: str, schema: dict[str, Any]) -> Iterator[Any]:
        """Values that the schema allows for a key: every word it lists, one value for each key below it."""
        schema = self._plain(schema)
        kinds = schema.get("type", "string")
        kind = kinds if isinstance(kinds, str) else kinds[0]
        if key in VALUES:
            yield VALUES[key]
        elif "enum" in schema:
            yield from schema["enum"]
        elif kind == "object" or "properties" in schema:
            required = {name: next(self.examples(name, schema["properties"][name])) for name in self._required(schema)}
            for name, below in schema.get("properties", {}).items():
                yield from ({**required, name: value} for value in self.examples(name, below))
        elif kind == "array":
            yield from ([value] for value in self.examples("", schema["items"]))
        else:
            yield {"boolean": True, "integer": 5, "null": None}.get(kind, "word")

    @staticmethod
    def _required(schema: dict[str, Any]) -> list[str]:
        return [*schema.get("required", []), *schema.get("oneOf", [{}])[0].get("required", [])]


def check(document: dict[str, Any]) -> None:
    network = documents.read_value("schema", document)
    assert [error.message for error in network.warnings if error.code == "BOOTNET-002"] == [], document


NEEDED: dict[str, dict[str, Any]] = {
    "physical": {"name": "eth9"},
    "bond": {"name": "bond9"},
    "bridge": {"name": "br9", "bridge_interfaces": [], "params": {}},
    "vlan": {"name": "eth0.9", "vlan_link": "eth0", "vlan_id": 9},
    "nameserver": {"address": "192.0.2.53"},
    "route": {"destination": "198.51.100.0/24", "gateway": "192.0.2.1"},
}


@pytest.mark.parametrize("kind", NEEDED)
def test_every_key_of_version_1_is_read(kind: str) -> None:
    schema = Schema(1)
    ground = {"type": "physical", "name": "eth0", "subnets": [{"type": "static", "address": "192.0.2.5/24"}]}
    properties = schema.definition(f"anyOf_type_{kind}")["properties"]
    count = 0
    for key, below in properties.items():
        for value in schema.examples(key, below):
            row = {"type": kind, **NEEDED[kind], key: value}
            if kind == "route" and key == "network":
                del row["destination"]
            subnets = row.get("subnets", [])
            if subnets and subnets[0].get("type") in ("static", "static6"):
                subnets[0].setdefault("address", "192.0.2.9/24")
            if row.get("params", {}).get("bond-mode") in OPEN_VSWITCH:
                with pytest.raises(PrecastError, match="is not one of balance-rr"):
                    check({"version": 1, "config": [ground, row]})
                continue
            check({"version": 1, "config": [ground, row]})
            count += 1
    assert count >= len(properties)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("ethernets", "mapping_physical"),
        ("bonds", "mapping_bond"),
        ("bridges", "mapping_bridge"),
        ("vlans", "mapping_vlan"),
    ],
)
def test_every_key_of_version_2_is_read(section: str, name: str) -> None:
    schema = Schema(2)
    properties = schema.definition(name)["properties"]
    needed = {"id": 9, "link": "eth0"} if section == "vlans" else {}
    for key, below in properties.items():
        for value in schema.examples(key, below):
            document: dict[str, Any] = {"version": 2, "ethernets": {"eth0": {}}}
            document.setdefault(section, {})["dev9"] = {**needed, key: value}
            check(document)
