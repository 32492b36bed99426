"""The facts of a compile: collected ones, those of Puppet's agent, and facter's flat names."""

import pytest

from precast.lang.compile_facts import CompileFacts
from precast.lang.inputs import ABSENT, FactAbsent, FactKeys, FactKind, FactPath, Path
from precast.lang.legacy_facts import find_legacy_fact, legacy_facts
from precast.services.traces.fact_paths import read_facts

COLLECTED = {
    "os": {"family": "Debian", "name": "Debian", "release": {"major": "12"}},
    "networking": {"fqdn": "web1.example.org", "interfaces": {"eth0": {"ip": "10.0.0.5"}}},
    "memory": {"system": {"total_bytes": 1 << 30}},
    "processors": {"models": ["Xeon"]},
    "disks": {"sda": {"size_bytes": 512}},
    "puppetversion": "9.9.9",
    "clientcert": "somebody else",
}


def facts() -> CompileFacts:
    return CompileFacts("web1.example.org", COLLECTED)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("osfamily",), "Debian"),
        (("operatingsystemmajrelease",), "12"),
        (("fqdn",), "web1.example.org"),
        (("ipaddress_eth0",), "10.0.0.5"),
        (("memorysize_mb",), 1024.0),
        (("processor0",), "Xeon"),
        (("blockdevice_sda_size",), 512),
        (("os", "release", "major"), "12"),
        (("clientnoop",), False),
        (("puppetversion",), "9.9.9"),
        (("clientcert",), "web1.example.org"),
        (("no_such_fact",), ABSENT),
        (("ipaddress_eth7",), ABSENT),
        (("osfamily", "below"), ABSENT),
    ],
)
def test_path_has_the_value_of_puppets_agent(path: Path, value: object) -> None:
    assert facts().find(path) == value
    assert facts().is_absent(str(path[0])) == (facts().find(path[:1]) is ABSENT)


def test_all_facts_are_those_that_single_reads_give() -> None:
    whole = facts().find(())
    assert isinstance(whole, dict)
    assert {"osfamily", "os", "ipaddress_eth0", "clientversion"} <= whole.keys()
    assert {name: facts().find((name,)) for name in whole} == whole


def test_single_flat_fact_equals_the_one_among_all() -> None:
    assert {name: find_legacy_fact(COLLECTED, name) for name in legacy_facts(COLLECTED)} == legacy_facts(COLLECTED)


class Change:
    """A change of a value at a path."""

    before, after = b"1", b"2"

    def __init__(self, path: str) -> None:
        self.path = path


@pytest.mark.parametrize(
    ("question", "path"),
    [
        (FactPath(("osfamily",)), "/os/family"),
        (FactPath(("ipaddress_eth0",)), "/networking/interfaces/eth0/ip"),
        (FactPath(("memorysize_mb",)), "/memory/system/total_bytes"),
        (FactPath(("processor0",)), "/processors/models/0"),
        (FactKind(("fqdn",)), "/networking/fqdn"),
        (FactAbsent("blockdevice_sda_size"), "/disks/sda"),
        (FactKeys(()), "/networking/interfaces/eth1"),
    ],
)
def test_change_of_a_source_touches_the_flat_name(question: object, path: str) -> None:
    reads = read_facts([question])  # type: ignore[list-item]
    assert reads.is_touched_by(Change(path))
    assert not reads.is_touched_by(Change("/kernel"))
