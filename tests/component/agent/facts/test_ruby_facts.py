"""The process of the Ruby facts of modules: what it may do with and without the node's trust, and what a failure of it costs."""

import os
import signal
import sys
from pathlib import Path

import pytest

from precast.agent.facts.collection import Collection, Collector
from precast.agent.facts.machine import Machine, NoKernel
from precast.agent.facts.plugins import MayTrust, never_trust
from precast.agent.facts.ruby import source
from precast.agent.facts.sources import Source, only_facts

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the environment's Ruby facts, which only root may enter, like the real one."""
    place = tmp_path / "state/plugins/ruby_facts"
    place.mkdir(parents=True, mode=0o755)
    (tmp_path / "state").chmod(0o700)
    monkeypatch.setattr(source, "OF_ENVIRONMENT", str(place))
    return place


def collect(directory: Path, code: str, may_trust: MayTrust = never_trust) -> Collection:
    (directory / "site+facter+x.rb").write_text(code)
    return collect_all(directory, may_trust)


def collect_all(directory: Path, may_trust: MayTrust = never_trust) -> Collection:
    machine = Machine(Path("/"), NoKernel())
    known = Source("the machine", 1.0, lambda _: only_facts({"kernel": "Linux", "os": {"family": "Debian"}}))
    return Collector([known, source.directory_source(machine, str(directory), may_trust)]).collect()


def trust() -> bool:
    return True


PROBE = """
Facter.add(:ids) { setcode { [`id -u`.strip, Process.euid] } }
Facter.add(:shadow) { setcode { File.readable?('/etc/shadow') } }
Facter.add(:network) { setcode { `cat /proc/net/dev`.lines.drop(2).map { |line| line.split(':').first.strip } } }
Facter.add(:processes) { setcode { Dir.glob('/proc/[0-9]*').length < 5 } }
Facter.add(:written) { setcode { system('touch /etc/precast-test-of-ruby-facts 2>/dev/null') } }
Facter.add(:known) { setcode { [Facter.value(:osfamily), Facter.value('os.family'), Facter.value(:kernel)] } }
Facter.add(:root_home) { setcode { Facter::Util::Resolution.exec('getent passwd root').split(':')[5] } }
"""


def test_facts_run_confined_without_the_nodes_trust(directory: Path) -> None:
    facts, warnings = collect(directory, PROBE)
    assert warnings == []
    assert facts["ids"] == ["65534", 65534]
    assert (facts["shadow"], facts["network"], facts["processes"], facts["written"]) == (False, ["lo"], True, False)
    assert facts["known"] == ["Debian", "Debian", "Linux"]
    assert facts["root_home"] == "/root"
    assert not Path("/etc/precast-test-of-ruby-facts").exists()


def test_facts_run_as_root_under_a_policy_that_permits_enforcing(directory: Path) -> None:
    facts, warnings = collect(directory, PROBE.replace("touch /etc/", "test -d /etc #"), trust)
    assert warnings == []
    assert facts["ids"] == ["0", 0]
    assert (facts["shadow"], facts["processes"]) == (True, False)


def test_confined_facts_reach_no_service_of_the_machine(directory: Path) -> None:
    code = (
        "Facter.add(:x) { setcode { system(%q("
        + sys.executable
        + " -c 'import socket; socket.socket()' 2>/dev/null)) } }"
    )
    assert collect(directory, code).facts["x"] is False
    assert collect(directory, code, trust).facts["x"] is True


def test_facts_that_cannot_be_confined_are_not_run(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    facts, warnings = collect(directory, "Facter.add(:x) { setcode { 1 } }\n")
    assert facts.keys() == {"kernel", "os"}
    assert [warning.code for warning in warnings] == ["FACT-029"]


def test_process_that_ends_early_costs_only_the_facts_that_it_had_not_printed(directory: Path) -> None:
    code = f"""
        Facter.add(:first) {{ setcode {{ 1 }} }}
        Facter.add(:second) {{ setcode {{ system("kill -{signal.SIGKILL.value} #{{Process.pid}}"); sleep 20 }} }}
        Facter.add(:third) {{ setcode {{ 3 }} }}
    """
    facts, warnings = collect(directory, code, trust)
    assert {name: facts.get(name) for name in ("first", "second", "third")} == {
        "first": 1,
        "second": None,
        "third": None,
    }
    assert [warning.code for warning in warnings] == ["FACT-027"]
    assert source.READ not in facts, "a compile warns of the facts that it lacks"
    assert "killed by signal 9" in warnings[0].message


def test_fact_that_takes_all_memory_costs_only_itself(directory: Path) -> None:
    code = """
        Facter.add(:big) { setcode { all = []; loop { all << ('x' * 10_000_000) + all.length.to_s } } }
        Facter.add(:small) { setcode { 1 } }
    """
    facts, warnings = collect(directory, code)
    assert facts["small"] == 1
    assert "big" not in facts
    assert [warning.code for warning in warnings] == ["FACT-042"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sleep 60", "it took more than 1 s"),
        ("loop { `sleep 0.1` }", "it took more than 1 s"),
        ("('a' * 60) =~ /^(a+)+$x/", "it took more than 1 s"),
        ("`sleep 60`", "it took more than 1 s"),
    ],
)
def test_deadline_interrupts_whatever_runs(directory: Path, code: str, words: str) -> None:
    late = f"Facter.add(:late, timeout: 1) {{ setcode {{ {code} }} }}\nFacter.add(:other) {{ setcode {{ 1 }} }}\n"
    facts, warnings = collect(directory, late)
    assert facts["other"] == 1
    assert [warning.code for warning in warnings] == ["FACT-040"]
    assert words in warnings[0].message


def test_number_of_commands_is_limited(directory: Path) -> None:
    code = "Facter.add(:many) { setcode { 600.times { system('true') }; 1 } }\nFacter.add(:other) { setcode { 1 } }\n"
    facts, warnings = collect(directory, code, trust)
    assert ("many" in facts, facts["other"]) == (False, 1)
    assert "more than 500 commands" in warnings[0].message


def test_pipe_and_device_are_refused_without_waiting(directory: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code = "".join(
        f"Facter.add('{name}') {{ setcode {{ File.read('{path}') }} }}\n"
        for name, path in (("pipe", tmp_path / "pipe"), ("zero", "/dev/zero"))
    )
    facts, warnings = collect(directory, code, trust)
    assert facts.keys() == {"kernel", "os", source.READ}
    assert [warning.message.partition(" (")[0].rpartition(": ")[2].partition(" - ")[0] for warning in warnings] == [
        "Invalid argument"
    ] * 2


def test_facts_are_not_run_for_another_root(tmp_path: Path) -> None:
    place = tmp_path / "root/var/lib/precast/plugins/ruby_facts"
    place.mkdir(parents=True)
    (place / "site+facter+x.rb").write_text("Facter.add(:x) { setcode { 1 } }\n")
    machine = Machine(tmp_path / "root", NoKernel())
    collected = Collector([source.directory_source(machine, source.OF_ENVIRONMENT, trust)]).collect()
    assert (collected.facts, [warning.code for warning in collected.warnings]) == ({}, ["FACT-028"])


def test_file_that_others_may_write_is_not_run(directory: Path) -> None:
    (directory / "site+facter+y.rb").write_text("Facter.add(:y) { setcode { 1 } }\n")
    (directory / "site+facter+y.rb").chmod(0o666)
    facts, warnings = collect(directory, "Facter.add(:x) { setcode { 1 } }\n", trust)
    assert ("x" in facts, "y" in facts) == (True, False)
    assert [warning.code for warning in warnings] == ["FACT-021"]
