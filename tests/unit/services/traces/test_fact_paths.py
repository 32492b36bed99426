"""Changes of facts that may lead to another leaf, and changes that cannot."""

import pytest

from precast.lang import inputs
from precast.services.traces.fact_paths import read_facts
from precast.store.facts.facts import FactChange

READS = read_facts(
    [
        inputs.FactPath(("os", "family")),
        inputs.FactPath(("mountpoints", 0, "device")),
        inputs.FactKeys(("networking", "interfaces")),
        inputs.FactKind(("networking", "hostname")),
        inputs.FactAbsent("motd"),
        inputs.DataKey(("nodes/", ("facts", "location", "room"), ".yaml"), "key", "yaml"),
        inputs.DataFile(("nodes/", ("trusted", "certname"), ".yaml")),
        inputs.SecretDocument("vault", ("app/", ("facts", "tier"))),
        inputs.SecretValue("vault", ("app/", ("facts", "rack", "row")), "password"),
        inputs.KeyedResult("fqdn_rand", (10,)),
        inputs.TrustedPath(("certname",)),
    ]
)


@pytest.mark.parametrize(
    ("path", "before", "after", "does"),
    [
        ("/os/family", b'"a"', b'"b"', True),
        ("/os/family/x", None, b"1", True),  # what was read became a hash
        ("/os", b'"a"', b"{}", True),
        ("/os/release", b'"1"', b'"2"', False),
        ("/mountpoints", b"[]", b'[{"device":1}]', True),
        ("/networking/interfaces/eth1", None, b"{}", True),
        ("/networking/interfaces/eth1", b"{}", None, True),
        ("/networking/interfaces/eth0/mtu", b"1", b"2", False),
        ("/networking/interfaces/eth0", b"1", b"2", False),  # the keys are the same
        ("/networking/interfaces", b"1", b"{}", True),
        ("/networking/hostname", b'"a"', b'"b"', True),
        ("/networking/fqdn", b'"a"', b'"b"', True),
        ("/networking/ip", b'"a"', b'"b"', False),
        ("/motd", None, b'"x"', True),
        ("/location/room", b'"a"', b'"b"', True),
        ("/location/floor", b"1", b"2", False),
        ("/tier", b'"a"', b'"b"', True),
        ("/rack/row", b'"a"', b'"b"', True),
        ("/rack/unit", b"1", b"2", False),
        ("/certname", b'"a"', b'"b"', False),
        ("/a~1b", None, b"1", False),
    ],
)
def test_change_matters_if_the_trace_read_it(path: str, before: bytes | None, after: bytes | None, does: bool) -> None:
    assert READS.is_touched_by(FactChange(path, before, after)) is does


def test_unknown_function_reads_all_facts() -> None:
    reads = read_facts([inputs.KeyedResult("another", ())])
    assert reads.is_touched_by(FactChange("/anything/at/all", b"1", b"2"))


def test_path_counts_as_read_if_a_path_above_or_below_is() -> None:
    assert READS.reads("/os/family")
    assert READS.reads("/os")
    assert READS.reads("/os/family/below")
    assert not READS.reads("/os/release")
    assert not READS.reads("/uptime")
