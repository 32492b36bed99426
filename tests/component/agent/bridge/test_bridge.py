"""Types in Ruby, applied by real Puppet behind the bridge: state, changes, prefetching, refreshes, faults, no-op, secrets."""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from lab import ruby_module
from lab.ruby_module import cell, probe
from precast.agent.applying.engine import Engine
from precast.agent.applying.machine import Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import make_plan
from precast.agent.applying.resource_memory import ResourceMemory
from precast.base.clock import SystemClock
from precast.catalog.body import Body, ResourceData
from precast.resources.bridge import bridge as bridge_module
from precast.resources.bridge.bridge import Bridge
from precast.resources.bridge.installation import find_puppet
from precast.resources.contents import EnvironmentContents
from precast.wire.reports.events import ResourceReport, Status

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(find_puppet() is None, reason="needs a Puppet (Debian: puppet-agent)"),
]


ENFORCE = RunOptions()


class Ran(NamedTuple):
    reports: dict[str, ResourceReport]

    def messages(self, ref: str) -> list[str]:
        return [event.message for event in self.reports[ref].events]

    def status(self, ref: str) -> str:
        return self.reports[ref].status.value


class Node:
    """A node with the module and a place for its cells, which it remembers from run to run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.modules = ruby_module.write_module(place / "modules")
        self.store = place / "cells.json"
        self.memory = ResourceMemory()

    def run(self, *resources: Mapping[str, Any], options: RunOptions = ENFORCE, root: str = "") -> Ran:
        content = ruby_module.pinned(self.modules, ruby_module.NAME)
        body = Body(tuple(map(_data, resources)), (), (), (), content)
        machine = Machine(
            root,
            str(self.place / "state"),
            SystemClock(),
            EnvironmentContents([self.modules], content),
            memory=self.memory,
            is_noop=options.is_noop,
            trusts_code=not options.is_look_only,
        )
        reports: list[ResourceReport] = []
        try:
            Engine(make_plan(body, None, machine), machine, self.memory, options, reports.append).run()
        finally:
            machine.close()
        self.memory._states |= self.memory._new_states  # as loading what was saved
        return Ran({report.resource: report for report in reports})

    def cells(self) -> dict[str, Any]:
        return json.loads(self.store.read_text()) if self.store.exists() else {}

    def calls(self) -> list[str]:
        calls = Path(f"{self.store}.calls")
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return lines


def _data(resource: Mapping[str, Any]) -> ResourceData:
    return msgspec.convert({"tags": [], **resource}, ResourceData)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_resource_is_created_changed_and_removed_with_the_words_of_its_type(node: Node) -> None:
    wanted = {"value": "ONE", "labels": ["b", "a"], "count": 3}
    ran = node.run(cell("a", node.store, **wanted))
    assert (ran.status("Bridge_cell[a]"), ran.messages("Bridge_cell[a]")) == ("changed", ["created"])
    assert node.cells() == {"a": {"value": "one", "labels": ["b", "a"], "count": 3}}
    assert ran.reports["Bridge_cell[a]"].applied_by.startswith("Puppet 7.")
    assert node.calls() == ["prefetch a", "flush a"]
    assert node.run(cell("a", node.store, **wanted)).status("Bridge_cell[a]") == "unchanged"
    assert node.calls() == ["prefetch a"]
    ran = node.run(cell("a", node.store, value="two", labels=["c"], count="4"))
    assert ran.messages("Bridge_cell[a]") == [
        "value changed 'one' to 'two'",
        "labels are c now",
        "count changed 3 to 4",
    ]
    assert node.cells()["a"] == {"value": "two", "labels": ["c"], "count": 4}
    ran = node.run(cell("a", node.store, ensure="absent"))
    assert (ran.messages("Bridge_cell[a]"), node.cells()) == (["removed"], {})


def test_all_resources_of_a_provider_are_prefetched_once(node: Node) -> None:
    node.run(*(cell(name, node.store, value="1") for name in "cab"), {"type": "Notify", "title": "n", "parameters": {}})
    assert node.calls() == ["prefetch a,b,c", "flush c", "flush a", "flush b"]


def test_noop_reads_and_changes_nothing(node: Node) -> None:
    ran = node.run(
        cell("a", node.store, value="1", notify="Bridge_cell[b]"),
        cell("b", node.store, ensure="absent"),
        options=RunOptions(is_noop=True),
    )
    assert ran.messages("Bridge_cell[a]") == ["current_value 'absent', should be 'present' (noop)"]
    assert ran.messages("Bridge_cell[b]") == ["Would have triggered 'refresh' from 1 event"]
    assert (node.cells(), node.calls()) == ({}, ["prefetch a,b"])


def test_ruby_refuses_to_change_anything_in_noop(node: Node) -> None:
    """Even if the agent should ask it to by mistake."""
    node.run(cell("a", node.store, value="1"))
    content = ruby_module.pinned(node.modules, ruby_module.NAME)
    machine = Machine(
        "", str(node.place / "state"), SystemClock(), EnvironmentContents([node.modules], content), is_noop=True
    )
    body = Body((_data(cell("a", node.store, value="2")),), (), (), (), content)
    handler = make_plan(body, None, machine).resources["Bridge_cell[a]"].handler
    assert handler is not None
    try:
        (change,) = handler.compare(handler.read())
        acts: list[Callable[[], Any]] = [partial(handler.apply, change), handler.flush, handler.refresh]
        for act in acts:
            with pytest.raises(bridge_module.RubyError, match="a no-op run changes nothing"):
                act()
    finally:
        machine.close()
    assert node.cells()["a"] == {"value": "1"}


def test_resource_is_refreshed_if_its_type_can_be(node: Node) -> None:
    ran = node.run(
        cell("a", node.store, value="1", notify=["Bridge_cell[b]", "Bridge_probe[p]"]),
        cell("b", node.store, ensure="absent"),
        probe("p", "nothing"),
    )
    assert ran.messages("Bridge_cell[b]") == ["Triggered 'refresh' from 1 event"]
    assert ran.messages("Bridge_probe[p]") == []  # the type has no `refresh`
    assert node.calls()[-1] == "refresh b"


def test_automatic_relationships_of_a_type_order_its_resources(node: Node) -> None:
    folder = node.place / "folder"
    ran = node.run(
        cell("late", folder / "cells.json", value="1", after="early"),
        cell("early", folder / "cells.json", value="2"),
        {"type": "File", "title": str(folder), "parameters": {"ensure": "directory"}},
    )
    assert list(ran.reports) == [f"File[{folder}]", "Bridge_cell[early]", "Bridge_cell[late]"]
    assert {report.status for report in ran.reports.values()} == {Status.CHANGED}


def test_change_of_another_is_marked_as_corrective_and_an_audit_reports_it(node: Node) -> None:
    node.run(cell("a", node.store, value="1", count=7))
    node.store.write_text('{"a": {"value": "5", "count": 8}}')
    ran = node.run(cell("a", node.store, value="1", audit="count"))
    (audited, changed) = sorted(ran.reports["Bridge_cell[a]"].events, key=lambda event: event.status)
    assert (changed.status, changed.corrective, changed.previous) == ("success", True, "5")
    assert audited.message == "audit change: previously recorded value 7 has been changed to 8"


def test_invalid_resource_fails_alone_with_the_text_of_its_type(node: Node) -> None:
    ran = node.run(
        cell("with blank", node.store),
        {"type": "Bridge_cell", "title": "x", "parameters": {"ensure": "present"}},
        cell("y", node.store, colour="red"),
        cell("fine", node.store, value="1"),
    )
    assert 'a name has no blanks, unlike "with blank"' in ran.messages("Bridge_cell[with blank]")[0]
    assert "a cell needs a store" in ran.messages("Bridge_cell[x]")[0]
    assert "no parameter named 'colour'" in ran.messages("Bridge_cell[y]")[0]
    assert [ran.status(f"Bridge_cell[{name}]") for name in ("with blank", "x", "y", "fine")] == [
        *["failed"] * 3,
        "changed",
    ]


def test_type_that_nobody_has_fails_alone(node: Node) -> None:
    ran = node.run({"type": "Of_no_module", "title": "x", "parameters": {}}, cell("fine", node.store))
    assert "knows no type of_no_module, and its module is not in the catalog" in ran.messages("Of_no_module[x]")[0]
    assert ran.status("Bridge_cell[fine]") == "changed"


@pytest.mark.parametrize(
    ("does", "told"), [("die", "(exit code 3)"), ("exit", "SystemExit"), ("fail", "it failed with no")]
)
def test_provider_that_dies_fails_its_resource_and_the_next_gets_a_new_process(
    node: Node, does: str, told: str
) -> None:
    ran = node.run(cell("a", node.store, value="1"), probe("bad", does, says="no"), cell("b", node.store, value="2"))
    assert told in ran.messages("Bridge_probe[bad]")[0]
    assert [report.status.value for report in ran.reports.values()] == ["changed", "failed", "changed"]
    assert node.cells() == {"a": {"value": "1"}, "b": {"value": "2"}}
    # Only a process that ended reads everything again.
    assert node.calls().count("prefetch a,b") == (2 if does == "die" else 1)


def test_provider_that_hangs_is_killed_with_its_group(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    pidfile = node.place / "pid"
    monkeypatch.setattr(bridge_module, "Bridge", partial(Bridge, deadline_s=20.0))
    ran = node.run(probe("stuck", "hang", pidfile=str(pidfile)), cell("b", node.store, value="2"))
    (told,) = ran.messages("Bridge_probe[stuck]")
    assert "the provider of Bridge_probe[stuck] did not answer within 20 seconds, and was killed" in told
    assert ran.status("Bridge_cell[b]") == "changed"
    assert not _is_alive(int(pidfile.read_text()))


def _is_alive(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_provider_that_prints_and_reads_its_input_does_no_harm(node: Node) -> None:
    assert node.run(probe("loud", "print"), cell("b", node.store)).status("Bridge_probe[loud]") == "unchanged"


def test_generated_resources_are_applied_right_after_their_parent(node: Node) -> None:
    made, owned = node.place / "made", node.place / "owned"
    ran = node.run(
        probe("maker", "change", makes=[str(made), str(owned)]),
        {"type": "File", "title": str(owned), "parameters": {"content": "of the catalog\n"}},
    )
    events = [(event.resource, event.status) for event in ran.reports["Bridge_probe[maker]"].events]
    assert events[:2] == [("Bridge_probe[maker]", "success"), (f"File[{made}]", "success")]
    assert {resource for resource, _ in events} == {"Bridge_probe[maker]", f"File[{made}]"}
    assert (made.read_text(), owned.read_text()) == ("made\n", "of the catalog\n")


def test_secrets_are_in_no_report_and_on_no_command_line(node: Node) -> None:
    secret = "correct horse battery"
    first = {**cell("a", node.store, token=secret), "sensitive_parameters": ["token"]}
    said = {**probe("p", "change", says=secret), "sensitive_parameters": ["says"]}
    failed = {**probe("f", "fail", says=secret), "sensitive_parameters": ["says"]}
    reports = [*node.run(first, said, failed).reports.values()]
    assert node.cells()["a"]["token"] == secret
    second = {**cell("a", node.store, token=f"{secret} 2"), "sensitive_parameters": ["token"]}
    ran = node.run(second)
    assert ran.messages("Bridge_cell[a]") == ["changed [redacted] to [redacted]"]
    reports += ran.reports.values()
    assert secret not in repr(reports)
    assert "told [redacted]" in repr(reports)


def test_look_only_run_evaluates_nothing_and_starts_no_ruby(node: Node) -> None:
    ran = node.run(
        cell("a", node.store, value="1"),
        {"type": "Notify", "title": "n", "parameters": {"require": "Bridge_cell[a]"}},
        options=RunOptions(is_noop=True, is_look_only=True),
    )
    report = ran.reports["Bridge_cell[a]"]
    assert (report.status, report.events) == (Status.SKIPPED, ())
    assert report.reason is not None
    assert report.reason.startswith("not evaluated: its check runs Ruby code of a module")
    assert ran.status("Notify[n]") == "noop"  # nothing changes here, so dependents are checked
    assert (node.calls(), (node.place / "state/bridge").exists()) == ([], False)


def test_bridge_without_trust_answers_nothing(node: Node) -> None:
    with pytest.raises(Exception, match="code of modules does not run on a node that only looks"):
        Bridge(str(node.place / "state")).ask("check", "Bridge_cell[a]")


def test_node_without_puppet_says_so(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "Bridge", partial(Bridge, find=lambda: None))
    ran = node.run(cell("a", node.store))
    assert "does not implement the type bridge_cell, and this node has no Puppet" in ran.messages("Bridge_cell[a]")[0]


def test_root_is_refused(node: Node) -> None:
    (node.place / "root").mkdir()
    ran = node.run(cell("a", node.store), root=str(node.place / "root"))
    assert "cannot be applied below" in ran.messages("Bridge_cell[a]")[0]
    assert node.calls() == []


def test_changed_file_in_the_library_is_written_again_and_another_is_deleted(node: Node) -> None:
    node.run(cell("a", node.store))
    library = node.place / "state/bridge/modules"
    code = library / "cells/lib/puppet/provider/bridge_cell/json.rb"
    code.write_text("raise 'changed by another'\n")
    (library / "cells/lib/puppet/type/stray.rb").write_text("raise 'not of the catalog'\n")
    (library / "other/lib").mkdir(parents=True)
    assert node.run(cell("a", node.store, value="2")).status("Bridge_cell[a]") == "changed"
    assert code.read_text() == ruby_module.FILES["lib/puppet/provider/bridge_cell/json.rb"]
    assert not (library / "cells/lib/puppet/type/stray.rb").exists()
    assert not (library / "other").exists()
    assert (node.place / "state/bridge").stat().st_mode & 0o077 == 0


def test_puppet_that_cannot_be_loaded_is_tried_once(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = find_puppet()
    assert installation is not None
    broken = installation._replace(library=str(tmp_path / "nowhere"), ruby="/bin/false")
    monkeypatch.setattr(bridge_module, "Bridge", partial(Bridge, find=lambda: broken))
    started_s = time.monotonic()
    ran = node.run(*(cell(name, node.store) for name in "abcdefgh"))
    assert {report.status for report in ran.reports.values()} == {Status.FAILED}
    assert "cannot be loaded" in ran.messages("Bridge_cell[a]")[0]
    assert time.monotonic() - started_s < 30
