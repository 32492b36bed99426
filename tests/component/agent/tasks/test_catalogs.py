"""Tasks that apply catalogs: exactly the version that the order names, in a run of its own, as far as the node's policy allows."""

import http.server
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.state.status_notes import CatalogRunNote, RunNote
from precast.base import digests
from precast.wire.jobs.programs import (
    CatalogWork,
    CleanTest,
    CommandTest,
    ManifestWork,
    NoWork,
    TaskProgram,
)
from precast.wire.reports.records import ENDED, RunEnded
from tests.component.agent.tasks.stage import DEADLINE_S, Outcome, Stage, wait_for

ENTRY = "modules/site/examples/hosts.pp"


def resource(kind: str, title: str, *tags: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "title": title, "parameters": parameters, "tags": list(tags)}


def document(*resources: dict[str, Any], edges: dict[str, str] | None = None) -> bytes:
    contained = [{"source": source, "target": target} for target, source in (edges or {}).items()]
    return json.dumps({"resources": resources, "edges": contained}).encode()


# Two files of a class, of which one has a tag, and one outside that both sides have relationships with.
CATALOG = document(
    resource("Class", "Web"),
    resource("File", "/a", "first", content="a\n", require="File[/other]"),
    resource("File", "/b", content="b\n", notify=["File[/a]", "File[/other2]"]),
    resource("File", "/other", content="other\n"),
    resource("File", "/other2", content="other\n"),
    edges={"File[/a]": "Class[Web]", "File[/b]": "Class[Web]"},
)

# A look-only run does not search files by a pattern of the catalog.
SEARCH = resource("File_line", "x", path="/etc/precast/agent.toml", line="x", match="^url")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


@pytest.fixture
def stage(server: CatalogServer) -> Iterator[Stage]:
    with Stage(server.authority, server.root) as made:
        made.configure(url=f'"{server.url}"')
        yield made


def offer(server: CatalogServer, catalog: bytes = CATALOG) -> dict[str, str]:
    """Release a catalog; it is not fetched yet. Returns the versions that an order names."""
    server.catalog = catalog
    server.sequence += 1
    return {"": digests.of_bytes(catalog)}


def files(stage: Stage) -> list[str]:
    return sorted(path.name for path in stage.root.iterdir() if path.is_file())


def reports(outcome: Outcome) -> list[RunEnded]:
    return outcome.sent(ENDED, RunEnded)


def test_part_by_class_is_applied_with_a_report_of_its_own(stage: Stage, server: CatalogServer) -> None:
    outcome = stage.run(CatalogWork(classes=["web"]), catalogs=offer(server), is_signed=False)
    ended = outcome.ended
    assert (ended.is_success, ended.phase, ended.message) == (True, "task", "2 resources: 2 changed")
    assert json.loads(ended.result) | {"changed": 2} == json.loads(ended.result)
    assert files(stage) == ["a", "b"]
    (report,) = reports(outcome)
    assert (report.began.report, report.how, report.began.mode) == (ended.report, "ended", "enforce")
    assert (report.began.reason, report.began.order) == ("ordered", "o1")
    assert report.began.catalog == digests.of_bytes(CATALOG)
    assert report.summary is not None
    assert report.summary.resources == 2


def test_relationships_that_lead_out_of_the_part_are_named(stage: Stage, server: CatalogServer) -> None:
    lines = stage.run(CatalogWork(tags=["First"]), catalogs=offer(server), is_signed=False).lines
    assert lines[0] == (
        "2 relationships with resources outside this part of the catalog: File[/other] -> File[/a], File[/b] ~> File[/a]"
    )
    assert [line.partition(":")[0] for line in lines[1:]] == ["changed File[/a]"]


def test_part_is_not_noted_as_a_run_of_the_whole_catalog(stage: Stage, server: CatalogServer) -> None:
    stage.run(CatalogWork(tags=["first"]), catalogs=offer(server), is_signed=False)
    with stage.registry() as registry:
        store = registry.claims._store
        assert store.read_note(CatalogRunNote) is None
        noted = store.read_note(RunNote)
    assert noted is not None
    assert noted.resources == 1


def test_run_of_the_whole_released_catalog_is_noted_as_such(stage: Stage, server: CatalogServer) -> None:
    catalogs = offer(server)
    stage.run(CatalogWork(), catalogs=catalogs, is_signed=False)
    with stage.registry() as registry:
        noted = registry.claims._store.read_note(CatalogRunNote)
    assert noted is not None
    assert (noted.digest, noted.is_noop, noted.reason) == (catalogs[""], False, "ordered")


def test_part_without_resources_fails_and_is_not_repeated(stage: Stage, server: CatalogServer) -> None:
    outcome = stage.run(CatalogWork(tags=["frist"]), catalogs=offer(server), retries=3, is_signed=False)
    assert (outcome.ended.is_success, outcome.ended.message) == (False, "the catalog has no resource of tag frist")
    assert len(outcome.phases) == 1


def test_failed_resource_fails_the_task_and_its_report_has_the_details(stage: Stage, server: CatalogServer) -> None:
    catalogs = offer(server, document(resource("File", "/none/a", content="a")))
    outcome = stage.run(CatalogWork(), catalogs=catalogs, retries=1, interval_s=0.0, is_signed=False)
    ended = outcome.ended
    assert (ended.is_success, ended.phase, ended.message) == (False, "task", "1 resource: 1 failed")
    assert [report.began.report for report in reports(outcome)][-1] == ended.report
    assert len(reports(outcome)) == 2
    assert any("/none" in line for line in outcome.lines)


def test_catalog_that_is_cached_is_not_fetched_again(stage: Stage, server: CatalogServer) -> None:
    catalogs = offer(server)
    stage.run(CatalogWork(tags=["first"]), catalogs=catalogs, is_signed=False)
    asked = server.asked.count("/v1/catalog")
    (stage.root / "var/lib/precast/agent/state.db").unlink()
    stage.run(CatalogWork(tags=["first"]), catalogs=catalogs, is_signed=False)
    assert (asked, server.asked.count("/v1/catalog")) == (1, 1)


def test_other_version_than_the_order_names_is_fetched_once_and_then_refused(
    stage: Stage, server: CatalogServer
) -> None:
    offer(server)
    outcome = stage.run(CatalogWork(), catalogs={"": "1" * 64}, is_signed=False)
    reason, message = outcome.not_run
    assert reason == "refused"
    assert (
        f"the released catalog 111111111111 cannot be applied: {digests.of_bytes(CATALOG)[:12]} is released" in message
    )
    assert server.asked.count("/v1/catalog") == 1
    assert (files(stage), outcome.phases) == ([], [])


def test_task_is_refused_if_no_server_answers(stage: Stage, server: CatalogServer) -> None:
    catalogs = offer(server)
    stage.configure(url='"https://127.0.0.1:1"')
    reason, message = stage.run(CatalogWork(), catalogs=catalogs, is_signed=False).not_run
    assert (reason, "HTTP-002" in message) == ("refused", True)


def test_cached_catalog_that_is_not_the_released_one_is_refused(stage: Stage, server: CatalogServer) -> None:
    stage.run(CatalogWork(tags=["first"]), catalogs=offer(server), is_signed=False)
    (stage.root / "var/lib/precast/agent/state.db").unlink()
    evil = document(resource("File", "/evil", content="evil"))
    catalog_path(stage.root).write_bytes(evil)
    outcome = stage.run(CatalogWork(), catalogs={"": digests.of_bytes(evil)}, is_signed=False)
    assert (outcome.ended.is_success, "AGENT-019" in outcome.ended.message) == (False, True)
    assert files(stage) == ["a"]


def test_node_that_allows_no_op_runs_only_changes_nothing_and_fails_the_task(
    stage: Stage, server: CatalogServer
) -> None:
    stage.server.permit(stage.root, "web1", "never")
    outcome = stage.run(CatalogWork(), catalogs=offer(server), retries=2, is_signed=False)
    ended = outcome.ended
    assert not ended.is_success
    assert ended.message.startswith("the node allows no-op runs only: its policy permits no run to enforce")
    assert ended.message.endswith("4 resources: 4 pending; no-op")
    assert (files(stage), len(outcome.phases)) == ([], 1)
    (report,) = reports(outcome)
    assert (report.began.mode, ended.report) == ("noop", report.began.report)


def test_no_op_of_a_catalog_succeeds_and_changes_nothing(stage: Stage, server: CatalogServer) -> None:
    outcome = stage.run(CatalogWork(mode="noop"), catalogs=offer(server), is_signed=False)
    assert (outcome.ended.is_success, outcome.ended.message) == (True, "4 resources: 4 pending; no-op")
    assert files(stage) == []


def test_no_op_on_a_look_only_node_evaluates_no_pattern_of_the_catalog(stage: Stage, server: CatalogServer) -> None:
    stage.server.permit(stage.root, "web1", "never")
    outcome = stage.run(CatalogWork(mode="noop"), catalogs=offer(server, document(SEARCH)), is_signed=False)
    assert (outcome.ended.is_success, outcome.ended.message) == (True, "1 resource: 1 skipped; no-op")


def test_catalog_of_an_entry_point_is_fetched_and_applied_with_its_contents(
    stage: Stage, server: CatalogServer
) -> None:
    source = "puppet:///modules/site/f"
    catalog = json.loads(document(resource("File", "/e", source=source)))
    catalog["content"] = {source: server.put(b"from the module")}
    data = json.dumps(catalog).encode()
    catalogs = {ENTRY: server.put_entry(ENTRY, data)}
    outcome = stage.run(
        ManifestWork(ENTRY), catalogs=catalogs, after=[CleanTest(work=ManifestWork(ENTRY))], is_signed=False
    )
    assert (outcome.ended.is_success, outcome.ended.phase) == (True, "post-test"), outcome.ended.message
    assert (stage.root / "e").read_text() == "from the module"
    (report,) = reports(outcome)
    assert (report.began.catalog, report.began.release) == (catalogs[ENTRY], 0)


def test_entry_point_whose_catalog_no_server_has_is_refused(stage: Stage, server: CatalogServer) -> None:
    offer(server)
    reason, message = stage.run(ManifestWork(ENTRY), catalogs={ENTRY: "2" * 64}, is_signed=False).not_run
    assert (reason, f"the catalog of {ENTRY} 222222222222 cannot be applied" in message) == ("refused", True)


def test_clean_test_passes_when_the_part_is_in_sync_and_leaves_no_trace(stage: Stage, server: CatalogServer) -> None:
    (stage.root / "a").write_text("a\n")
    clean = CleanTest(work=CatalogWork(tags=["first"]))
    outcome = stage.run(NoWork(), before=[clean], catalogs=offer(server), is_signed=False)
    assert outcome.ended.is_success, outcome.ended.message
    assert reports(outcome) == []
    with stage.registry() as registry:
        assert registry.claims._store.read_note(RunNote) is None


def test_clean_test_fails_with_what_is_pending_and_changes_nothing(stage: Stage, server: CatalogServer) -> None:
    clean = CleanTest(work=CatalogWork(mode="enforce", classes=["web"]))
    ended = stage.run(NoWork(), after=[clean], catalogs=offer(server), is_signed=False).ended
    assert (ended.is_success, ended.phase, files(stage)) == (False, "post-test", [])
    assert ended.message.startswith("post-test 1 of 1 (clean catalog): 2 resources are not in sync: File[/")


def test_clean_test_of_a_resource_that_a_look_only_node_does_not_evaluate_fails(
    stage: Stage, server: CatalogServer
) -> None:
    stage.server.permit(stage.root, "web1", "never")
    clean = CleanTest(work=CatalogWork())
    ended = stage.run(NoWork(), after=[clean], catalogs=offer(server, document(SEARCH)), is_signed=False).ended
    assert (ended.is_success, "not evaluated" in ended.message) == (False, True)


class SlowSource(http.server.BaseHTTPRequestHandler):
    """A server whose only file arrives when a test says so: the run of its resource takes that long."""

    asked, released = threading.Event(), threading.Event()

    def do_GET(self) -> None:
        self.asked.set()
        self.released.wait(DEADLINE_S)
        self.send_response(200)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"x")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class HeldRun:
    """A task whose run is in the middle of the first of two resources, until `go_on`."""

    def __init__(self, stage: Stage, server: CatalogServer, port: int, **order: Any) -> None:
        self._stage = stage
        slow = resource("File", "/slow", source=f"http://127.0.0.1:{port}/file")
        catalogs = offer(server, document(slow, resource("File", "/next", content="x")))
        stage.grant(TaskProgram("t", CatalogWork()), catalogs=catalogs, is_signed=False, **order)
        self.process = stage.start()
        assert SlowSource.asked.wait(DEADLINE_S)

        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.step = int(children.read_text().split()[0])  # the process that applies the catalog

    def await_stop(self) -> None:
        """Wait until the process of the task has asked the step to end."""
        wait_for(lambda: is_pending(self.step, signal.SIGTERM))
        os.kill(self.step, signal.SIGCONT)

    def go_on(self) -> tuple[Outcome, RunEnded]:
        """Let it end. Returns the answer of the task, and the report of the run, which was broken off."""
        SlowSource.released.set()
        self.process.communicate(timeout=60)
        outcome = self._stage.outcome()
        (report,) = reports(outcome)
        assert report.how == "broken-off"
        assert not (self._stage.root / "next").exists()
        return outcome, report


@pytest.fixture
def slow_port() -> Iterator[int]:
    SlowSource.asked.clear()
    SlowSource.released.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowSource) as slow:
        slow.daemon_threads = True
        thread = threading.Thread(target=slow.serve_forever)
        thread.start()
        yield int(slow.server_address[1])
        SlowSource.released.set()
        slow.shutdown()
        thread.join()


def is_pending(pid: int, number: int) -> bool:
    """Whether a signal was sent to a process that is stopped."""
    found = re.search(r"ShdPnd:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return bool(int(found[1], 16) & 1 << (number - 1))


def test_run_that_is_late_stops_after_the_current_resource_and_its_report_says_so(
    stage: Stage, server: CatalogServer, slow_port: int
) -> None:
    run = HeldRun(stage, server, slow_port, timeout_s=8.0)
    os.kill(run.step, signal.SIGSTOP)
    run.await_stop()
    outcome, report = run.go_on()
    assert (outcome.ended.is_success, outcome.ended.is_overdue, outcome.ended.phase) == (False, True, "task")
    assert (outcome.ended.report, report.why) == (
        report.began.report,
        "its task was ended: it stopped after the current resource",
    )
    assert (stage.root / "slow").read_text() == "x"


def test_run_that_is_killed_fails_the_task_and_is_reported_as_broken_off(
    stage: Stage, server: CatalogServer, slow_port: int
) -> None:
    run = HeldRun(stage, server, slow_port)
    os.kill(run.step, signal.SIGKILL)
    outcome, report = run.go_on()
    assert (outcome.ended.is_success, outcome.ended.message) == (False, "its process was ended by signal 9")
    assert outcome.ended.report == report.began.report


def test_aborted_run_stops_after_the_current_resource(stage: Stage, server: CatalogServer, slow_port: int) -> None:
    run = HeldRun(stage, server, slow_port)
    stage.abort()
    os.kill(run.step, signal.SIGSTOP)
    run.process.send_signal(signal.SIGTERM)
    run.await_stop()
    outcome, _ = run.go_on()
    assert outcome.not_run == ("aborted", "the task was aborted in its phase task")
    assert (stage.root / "slow").exists()


def test_catalog_and_commands_in_one_task_are_under_one_lease(stage: Stage, server: CatalogServer) -> None:
    stage.configure(url=f'"{server.url}"', allow_exec="true")
    outcome = stage.run(
        CatalogWork(tags=["first"]),
        before=[CommandTest(cmd=f"test ! -e {stage.root}/a")],
        after=[CommandTest(cmd=f"test -e {stage.root}/a")],
        catalogs=offer(server),
    )
    assert outcome.ended.is_success, outcome.ended.message
    with stage.registry() as registry:
        assert registry.claims._store.read("SELECT token FROM run_lease") == [(1,)]
