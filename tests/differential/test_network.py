"""Our renderings of a network say the same as those of Debian's cloud-init, and what netplan makes of it is what ours for networkd says.

Where cloud-init says something else, the reason is in the list here, and a reason that nothing needs any more fails.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]

from lab import network_facts
from precast.boot.network.model import Network
from precast.boot.network.readers import documents
from precast.boot.network.renderers.selection import RENDERERS
from tests.unit.boot.network.renderings import GOLDEN

LAB = Path(__file__).resolve().parents[2] / "lab"
PYTHON = "/usr/bin/python3"
Fact = tuple[Any, ...]


class Case(NamedTuple):
    """A network, and the facts of one renderer's files: only in ours, only in theirs."""

    renderer: str
    document: dict[str, Any]
    ours: frozenset[Fact]
    theirs: frozenset[Fact]

    def rows(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in self.document.get("config", []) if row["type"] == kind]

    @property
    def of_all(self) -> set[str]:
        """Servers and domains that rows of their own give."""
        rows = self.rows("nameserver")
        listed = [row["address"] if isinstance(row["address"], list) else [row["address"]] for row in rows]
        return {entry for part in (*listed, *(row.get("search", []) for row in rows)) for entry in part}


def _without_metric(fact: Fact) -> Fact:
    return (*fact[:4], None)


# Each says of a fact that only one side has (`is_ours`) whether it is the reason for that.
REASONS: dict[str, Callable[[Case, Fact, bool], bool]] = {
    "its networkd renderer makes no bonds, bridges and VLANs": lambda case, fact, is_ours: (
        case.renderer == "networkd" and is_ours and fact[1] in ("part of", "vlan", "mode")
    ),
    "a server that names its device, or none, is dropped or written for another device": lambda case, fact, _: (
        fact[1] in ("dns", "search") and fact[2] in case.of_all
    ),
    "a route that stands alone is dropped, or given to every device": lambda case, fact, _: (
        fact[1] == "route" and fact[3] in {row["gateway"] for row in case.rows("route")}
    ),
    "the metric of a route is lost": lambda case, fact, is_ours: (
        fact[1] == "route"
        and (_without_metric(fact) in case.theirs if is_ours else any(_without_metric(own) == fact for own in case.ours))
    ),
    "a device with router advertisements alone asks for DHCPv6": lambda case, fact, is_ours: (
        fact[1] == "dhcp6" and not is_ours and (fact[0], "accept-ra") in case.ours
    ),
    "accept-ra is lost, or said by DHCPv6": lambda case, fact, is_ours: fact[1] == "accept-ra" and is_ours,
    "parameters of a bond are repeated at its parts": lambda case, fact, is_ours: (
        case.renderer == "eni" and not is_ours and fact[1] == "mode"
    ),
    "its NetworkManager renderer loses the size of a VLAN": lambda case, fact, is_ours: (
        case.renderer == "network-manager" and is_ours and fact[1] == "mtu" and "." in fact[0]
    ),
    "its NetworkManager renderer has IPv4 by itself for a device that is set up by hand": lambda case, fact, is_ours: (
        case.renderer == "network-manager" and not is_ours and fact[1] == "auto4"
    ),
}  # fmt: skip


def network_documents() -> dict[str, dict[str, Any]]:
    corpora = Path(os.environ.get("PRECAST_CORPORA", "/nowhere")) / "cloud-init" / "examples"
    paths = [*GOLDEN.glob("*.yaml"), *corpora.glob("network-config-*.yaml")]
    read = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(paths)}
    return {name: document.get("network", document) for name, document in read.items()}


def macs(network: Network) -> dict[str, str]:
    return {device.match.mac: device.name for device in network.devices if device.match and device.match.mac}


def ours(network: Network, renderer: str) -> network_facts.Facts:
    files = {file.path: file.text for file in RENDERERS[renderer](network).files}
    return network_facts.of_files(renderer, files, macs(network))


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, dict[str, str]]]:
    asked = subprocess.run([PYTHON, "-c", "import cloudinit"], capture_output=True, check=False)
    if asked.returncode or os.geteuid() != 0:
        pytest.skip("needs Debian's cloud-init, and root for a namespace to run its classes in")
    words = ["unshare", "--net", PYTHON, str(LAB / "cloud_init_renderers.py")]
    done = subprocess.run(
        words, input=json.dumps(network_documents()), capture_output=True, text=True, check=True, timeout=100
    )
    found: dict[str, dict[str, dict[str, str]]] = json.loads(done.stdout)
    return found


def test_renderings_say_what_those_of_cloud_init_say(theirs: dict[str, dict[str, dict[str, str]]]) -> None:
    used, compared, unexplained = set(), 0, []
    for name, document in network_documents().items():
        network = documents.read_value(name, document)
        for renderer in RENDERERS:
            files = theirs[name][renderer]
            if "" in files:  # it cannot read this one: a default route by that word, parameters of version 2
                assert name in ("static", "layers"), (name, renderer, files)
                continue
            compared += 1
            mine, other = ours(network, renderer), network_facts.of_files(renderer, files, macs(network))
            case = Case(renderer, document, frozenset(mine - other), frozenset(other - mine))
            for fact in sorted(mine ^ other, key=str):
                reasons = [reason for reason, holds in REASONS.items() if holds(case, fact, fact in mine)]
                used.update(reasons)
                unexplained += [(name, renderer, "ours" if fact in mine else "theirs", fact)] if not reasons else []
    assert unexplained == []
    assert compared >= 18
    assert set(REASONS) - used == set(), "these reasons explain nothing any more"


NAMES = {"dhcp4": "auto4", "dhcp6": "auto6", "accept-ra": "auto6"}


@pytest.mark.parametrize("name", network_documents())
def test_all_four_renderings_say_the_same(name: str) -> None:
    network = documents.read_value(name, network_documents()[name])
    said = {renderer: ours(network, renderer) for renderer in RENDERERS}
    assert said["netplan"] == said["networkd"]
    if name == "static":  # a pattern for names: ifupdown and NetworkManager get it resolved, or as a match
        return
    # An address of a route's own or a DNS server of another family has no place in NetworkManager's: it is told instead.
    plain = {(fact[0], NAMES.get(fact[1], fact[1]), *fact[2:]) for fact in said["netplan"]}
    words = [error.message.split() for error in RENDERERS["network-manager"](network).warnings]
    left = {(word[5].rstrip(";"), word[3]) for word in words}
    assert said["network-manager"] == {fact for fact in plain if (fact[0], fact[-1]) not in left}
    assert said["eni"] == said["netplan"] - {
        fact for fact in said["netplan"] if fact[1] == "accept-ra" and _speaks6(fact, said)
    }


def _speaks6(fact: Fact, said: dict[str, network_facts.Facts]) -> bool:
    """ifupdown takes advertisements with DHCPv6 by itself."""
    return (fact[0], "dhcp6") in said["netplan"]


@pytest.mark.needs("netplan")
@pytest.mark.parametrize("name", network_documents())
def test_netplan_makes_of_ours_what_ours_says_to_networkd(name: str, tmp_path: Path) -> None:
    network = documents.read_value(
        name, network_documents()[name] | {"renderer": "networkd"} if name == "further" else network_documents()[name]
    )
    (file,) = RENDERERS["netplan"](network).files
    path = tmp_path / file.path
    path.parent.mkdir(parents=True)
    path.write_text(file.text)
    path.chmod(file.mode)
    done = subprocess.run(["netplan", "generate", "--root-dir", tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    made = tmp_path / "run/systemd/network"
    files = {f"/network/{file.name}": file.read_text() for file in made.iterdir()}
    facts = {fact for fact in network_facts.networkd(files) if not fact[0].startswith("wl")}
    assert facts == ours(network, "networkd")
