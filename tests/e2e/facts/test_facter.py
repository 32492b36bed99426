"""Compares our facts with those of the real facter, on this machine and in a test network: facts that both have are equal.

The differences that are meant stand in `MEANT` and `NOT_OURS`, each with its reason; docs/explanation/facts.md tells them to users.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from precast.agent.facts.volatile import is_volatile

PRECAST = Path(sys.executable).with_name("precast")

# Facts that both have, with values that differ on purpose.
MEANT = {
    "processors.isa": "`uname -p` says unknown on Debian; ours is the hardware's name",
    "hardwareisa": "as processors.isa",
    "memoryfree": "changes between the two collections, as memory.system.available",
    "memoryfree_mb": "changes between the two collections",
    "swapfree": "changes between the two collections",
    "swapfree_mb": "changes between the two collections",
    "uptime": "changes between the two collections",
    "uptime_seconds": "changes between the two collections",
    "uptime_hours": "changes between the two collections",
    "uptime_days": "changes between the two collections",
}
# Facts that only facter has.
NOT_OURS = {
    "facterversion": "there is no facter; precastversion instead",
    "ruby": "there is no Ruby",
    "rubyplatform": "there is no Ruby",
    "rubysitedir": "there is no Ruby",
    "rubyversion": "there is no Ruby",
    "augeas": "there is no Augeas",
    "augeasversion": "there is no Augeas",
    "dhcp_servers": "facter has it with null where there is no server",
}

Leaves = dict[tuple[str, ...], Any]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    else:
        yield path, value


def asked(*command: str | Path) -> Leaves:
    # Facter exits with 1 for any file that it could not read, and still prints its facts.
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    return dict(leaves(json.loads(done.stdout)))


@pytest.mark.needs("facter")
def test_facts_that_facter_knows_too_are_equal() -> None:
    theirs = asked("facter", "--json", "--show-legacy")
    ours = asked(PRECAST, "facts", "local", "--json", "--legacy")
    common = {path for path in theirs.keys() & ours.keys() if not is_volatile(path)}
    meant = {path for path in common if ".".join(path) in MEANT}
    different = {".".join(path): (theirs[path], ours[path]) for path in common - meant if theirs[path] != ours[path]}
    assert different == {}
    assert len(common) > 100
    print(f"facter: {len(common - meant)} facts equal, {len(meant)} differ on purpose, of {len(theirs)}")


@pytest.mark.needs("facter")
def test_facts_of_facter_alone_are_listed() -> None:
    theirs = asked("facter", "--json", "--show-legacy")
    ours = asked(PRECAST, "facts", "local", "--json", "--legacy")
    assert sorted({path[0] for path in theirs.keys() - ours.keys()} - NOT_OURS.keys()) == []


@pytest.mark.needs("facter")
def test_volatile_facts_of_facter_have_our_type() -> None:
    theirs, ours = asked("facter", "--json"), asked(PRECAST, "facts", "local", "--json")
    common = [path for path in theirs.keys() & ours.keys() if is_volatile(path)]
    assert [path for path in common if type(theirs[path]) is not type(ours[path])] == []
    assert len(common) > 10


NETWORK = """
set -e
ip link set lo up
ip address add 198.51.100.7/24 dev lo label lo:1
ip address add 192.0.2.7/32 dev lo
ip -6 address add 2001:db8::7/64 dev lo
ip -6 address add fd00:7::7/48 dev lo
exec "$@"
"""


def in_a_namespace(*command: str | Path) -> list[str]:
    """The command in a network namespace of its own; skips the test where namespaces are not available."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("network namespaces cannot be made here")
    return [*alone, *map(str, command)]


def test_network_namespace_without_anything_has_loopback_only() -> None:
    """This holds although /sys still shows the interfaces of the namespace in which it was mounted."""
    facts = asked(*in_a_namespace(PRECAST, "facts", "local", "--json", "networking.interfaces"))
    assert ("networking.interfaces", "lo", "mtu") in facts
    assert not any(path[1].startswith("e") for path in facts)
    assert not any(path[-1] in ("ip", "ip6") for path in facts)


@pytest.mark.needs("ip")
def test_network_with_aliases_and_several_addresses_is_reported() -> None:
    words = in_a_namespace("sh", "-c", NETWORK, "sh", PRECAST, "facts", "local", "--json", "networking")
    facts = {path[1:]: value for path, value in asked(*words).items()}
    assert facts["interfaces", "lo", "ip"] == "192.0.2.7"
    assert facts["interfaces", "lo:1", "ip"] == "198.51.100.7"
    assert facts["interfaces", "lo", "ip6"] == "2001:db8::7"
    assert facts["interfaces", "lo", "netmask6"] == "ffff:ffff:ffff:ffff::"


@pytest.mark.needs("ip")
@pytest.mark.needs("facter")
def test_network_with_aliases_and_several_addresses_is_equal_to_facters() -> None:
    shell = ("sh", "-c", NETWORK, "sh")
    theirs = asked(*in_a_namespace(*shell, "facter", "--json", "networking"))
    ours = asked(*in_a_namespace(*shell, PRECAST, "facts", "local", "--json", "networking"))
    assert ours == theirs
