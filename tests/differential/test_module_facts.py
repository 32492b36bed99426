"""Ruby facts of modules: what the subset reads is what real Facter reads, over cases that we wrote and over all facts of Debian's modules.

Every difference that is meant stands here with its reason, so that a new one fails.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.machine import Machine
from precast.agent.facts.ruby.source import READ
from precast.agent.facts.ruby.system import NodeSystem
from precast.agent.facts.running_kernel import RunningKernel
from precast.base import programs
from precast.base.digests import of_bytes
from precast.base.spans import Source
from precast.cli.code.local_environments import DirectoryTree
from precast.lang.compile import compile_catalog
from precast.lang.file_trees import FileStore
from precast.lang.inputs import Inputs
from precast.lang.legacy_facts import legacy_facts
from precast.lang.module_facts import evaluation
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.ruby.declarations.facts import added_facts
from precast.lang.ruby.declarations.ruby_file import load_ruby_file
from precast.lang.settings import Settings

CASES = Path(__file__).with_name("module_facts")
MODULES = Path("/usr/share/puppet/modules")
ABSENT = "(absent)"
TIMEOUT_S = 280
# What of Debian's modules cannot be read.
NOT_READ = {
    "the rest of the file": "ipaclient/lib/facter/ipa_facts.rb asks a name server with Resolv::DNS while it is loaded",
}
# Facts of Debian's modules that real Facter does not have, for a reason of this machine.
MORE_THAN_FACTER = {
    "sssd_services": "the file requires ruby-augeas, which every package of Puppet's own has, and Debian's has not",
    "sssd_version": "as sssd_services",
}


class Comparison(NamedTuple):
    """The names of facts by what became of them."""

    equal: list[str]
    absent: list[str]
    different: dict[str, tuple[Any, Any]]


def compare(names: set[str], real: Mapping[str, Any], ours: Mapping[str, Any]) -> Comparison:
    result = Comparison([], [], {})
    for name in sorted(names):
        pair = real.get(name, ABSENT), ours.get(name, ABSENT)
        if json.dumps(pair[0], sort_keys=True) != json.dumps(pair[1], sort_keys=True):
            result.different[name] = pair
        else:
            (result.absent if pair[0] == ABSENT else result.equal).append(name)
    return result


def collect(directory: Path | None) -> Collection:
    machine = Machine(Path("/"), RunningKernel())
    return Collector(all_sources(machine, ruby_directories=[] if directory is None else [str(directory)])).collect()


def store(directory: Path, module: str, library: Path) -> Iterator[str]:
    """Store the facts below a `lib` as a node does, and yield the names that the files add as far as the text tells."""
    for path in sorted((library / "facter").rglob("*.rb")):
        text = path.read_text()
        (directory / f"{module}+{str(path.relative_to(library)).replace('/', '+')}").write_text(text)
        code = load_ruby_file(str(path), of_bytes(text.encode()), text)
        yield from (fact.name for fact in (added_facts(code) if code is not None else ()) if fact.name is not None)


def ask(argv: list[str]) -> dict[str, Any]:
    """The facts that a program prints. Facter ends with 1 if a fact raised an error, which some of ours do."""
    environment = {**programs.ENVIRONMENT, "LANG": "C.UTF-8"}
    result = subprocess.run(argv, capture_output=True, timeout=TIMEOUT_S, env=environment, cwd="/", check=False)
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


@pytest.fixture
def place(tmp_path: Path) -> Path:
    directory = tmp_path / "ruby_facts"
    directory.mkdir(mode=0o755)
    return directory


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_facts_of_our_cases_have_the_values_that_facter_gives(
    puppet_and_modules: None, tmp_path: Path, place: Path
) -> None:
    library = tmp_path / "lib"
    library.mkdir()
    (library / "facter").symlink_to(CASES)
    declared = set(store(place, "case", library))
    ours, before = collect(place).facts, collect(None).facts
    real = ask(["facter", "--json", "--custom-dir", str(CASES)])
    names = declared | (ours.keys() - before.keys() - {READ}) | {"kernel", "kernelrelease", "kernelversion", "timezone"}
    result = compare(names, real, ours)
    assert result.different == {}
    assert len(result.equal) >= 120
    assert len(result.absent) >= 30


@pytest.mark.timeout(2 * TIMEOUT_S)  # two facts simulate an upgrade of the whole system, in both programs
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_facts_of_debians_modules_have_the_values_that_puppet_gives(puppet_and_modules: None, place: Path) -> None:
    declared = {
        name
        for module in sorted(MODULES.iterdir())
        if (module / "lib/facter").is_dir()
        for name in store(place, module.name, module / "lib")
    }
    collected, before = collect(place), collect(None).facts
    names = declared | (collected.facts.keys() - before.keys() - {READ})
    real = ask(["puppet", "facts", "--modulepath", str(MODULES)])
    result = compare(names, real, collected.facts)
    refused = [warning.message for warning in collected.warnings if warning.code == "FACT-042"]
    print(
        f"{len(names)} facts: {len(result.equal)} equal, {len(result.absent)} absent in both, {len(result.different)} different;"
        f" not read: {refused}"
    )
    assert not [warning for warning in collected.warnings if warning.code in ("FACT-043", "FACT-027")]
    assert result.different.keys() <= MORE_THAN_FACTER.keys(), result.different
    assert all(real == ABSENT for real, _ in result.different.values())
    assert {message.partition(" needs ")[0] for message in refused} == NOT_READ.keys()
    assert {"root_home", "service_provider", "systemd", "puppet_vardir", "mysql_server_id", "os_workers"} <= set(
        result.equal
    )
    assert len(result.equal) >= 20
    assert len(names) >= 69


class SystemdNode(NodeSystem):
    """This machine, if systemd were its first process."""

    def read(self, path: str) -> str:
        return "systemd\n" if path == "/proc/1/comm" else super().read(path)


def facts_with_systemd(modules: Sequence[str]) -> dict[str, Any]:
    """The facts of this machine with those of some modules."""
    machine = collect(None).facts
    files = {
        f"{module}/lib/{path.relative_to(MODULES / module / 'lib')}": path.read_text()
        for module in modules
        for path in (MODULES / module / "lib/facter").rglob("*.rb")
    }
    known = {**legacy_facts(machine), **machine}
    found = evaluation.evaluate(SystemdNode(), evaluation.Given(files, known, {}, 60.0))
    return {**machine, **{each["fact"]: each["value"] for each in found if "fact" in each}}


def compiled_titles(facts: dict[str, Any], code: str) -> set[str]:
    tree = DirectoryTree(Path(os.devnull), (MODULES,))
    inputs = Inputs(NodeAnswers(NodeData.local("web1.example.com", facts), FileStore(tree)))
    result = compile_catalog(inputs, Settings(module_path=(str(MODULES),)), Source("site.pp", code))
    return {resource.ref for resource in result.body.resources}


def test_catalogs_take_the_branches_of_the_facts(puppet_and_modules: None) -> None:
    code = "class { 'mysql::server': root_password => 'x' }\nclass { 'redis': }\nredis::instance { 'second': }\n"
    limit = "File[/etc/systemd/system/redis-server.service.d/limit.conf]"
    facts = facts_with_systemd(["stdlib", "systemd", "mysql", "redis"])
    assert (facts["root_home"], facts["service_provider"], facts["systemd"]) == ("/root", "systemd", True)
    titles = compiled_titles(facts, code)
    assert {"File[/root/.my.cnf]", limit} <= titles
    assert "File[/.my.cnf]" not in titles
    without = compiled_titles(collect(None).facts, code)
    assert "File[/.my.cnf]" in without
    assert limit not in without
