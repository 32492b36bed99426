"""Processes that die in the middle of a run: no acknowledged record is lost, gaps are requested again, and losses are reported.

The table in docs/explanation/reports.md has a line for each of these.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import DEADLINE_S
from lab.agent_runs import FILES, apply, enrolled, paused, reports, until
from lab.postgres import PostgresServer
from lab.site import Site
from precast.agent.applying.reporting.reporter import Reporter
from precast.agent.state.spool import SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.ids import TimeOrderedIds
from precast.wire.reports.events import Summary
from precast.wire.reports.records import RunBegan

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "-m"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


def running_with_events(site: Site, node: str) -> dict[str, Any]:
    (row,) = until(lambda: [row for row in reports(site, "--node", node) if row["events"]])
    assert row["state"] == "running"
    return dict(row)


def expect_whole(site: Site, node: str) -> None:
    """Check that the server has every event of the run, once and in order."""
    (row,) = until(lambda: reports(site, "--node", node, "--state", "ended"))
    assert (row["changed"], row["events"], row["lost"]) == (FILES, FILES, 0)
    report = site.run("report", "show", node)
    assert [event["number"] for event in report["events"]] == list(range(1, FILES + 1))


def test_run_that_is_killed_is_told_as_broken_off_with_all_it_had_told(site: Site) -> None:
    with enrolled(site, "killed1") as agent:
        agent.until_connected()
        with paused(agent.root) as running:
            before = running_with_events(site, "killed1")
            running.send_signal(signal.SIGKILL)
            running.wait(DEADLINE_S)
        agent.stop(signal.SIGKILL)
        agent.start()  # the next agent finds the run unfinished
        (row,) = until(lambda: reports(site, "--node", "killed1", "--state", "broken-off"))
        assert row["events"] >= before["events"]
        assert (row["lost"], row["why"]) == (0, "its process ended before it did")
        # The next run is a run like any other.
        assert apply(agent.root, agent.root / "given.json") == 0
        (row,) = until(lambda: reports(site, "--node", "killed1", "--state", "ended"))
        assert row["changed"] < FILES, "what the first has done is done"


def test_run_goes_on_without_its_daemon_and_is_told_whole_afterwards(site: Site) -> None:
    with enrolled(site, "daemon1") as agent:
        agent.until_connected()
        with paused(agent.root) as running:
            running_with_events(site, "daemon1")
            agent.stop(signal.SIGKILL)
            running.communicate(timeout=DEADLINE_S)
        assert running.returncode == 0
        agent.start()
        expect_whole(site, "daemon1")


def test_server_that_is_killed_in_mid_stream_gets_everything_once(site: Site) -> None:
    with enrolled(site, "server1") as agent:
        agent.until_connected()
        with paused(agent.root) as running:
            running_with_events(site, "server1")
            site.kill()
            running.communicate(timeout=DEADLINE_S)
        site.start()
        expect_whole(site, "server1")


def test_database_that_is_restarted_in_mid_stream_has_everything_once(tmp_path: Path) -> None:
    with (
        PostgresServer() as server,
        Site(tmp_path / "data", server.url(server.create_database())) as site,
        enrolled(site, "database1") as agent,
    ):
        agent.until_connected()
        with paused(agent.root) as running:
            running_with_events(site, "database1")
            server.kill()
            running.communicate(timeout=DEADLINE_S)
        server.start()
        expect_whole(site, "database1")


def test_spool_that_is_too_small_drops_and_says_how_many(site: Site) -> None:
    """While no server was reachable, the node wrote more records than its spool may hold."""
    with enrolled(site, "small1") as agent:
        agent.kill()
        with closing(LocalStore.open(agent.root, lambda: "small")) as store:
            for _ in range(15):
                spool_run(store, SpoolLimits(records=10))
        agent.start()
        agent.until_settled()
        kept = len(reports(site, "--node", "small1", "--most", "1000"))
        lost = site.session_of("small1")["lost"]
    assert 0 < kept < 15
    assert kept + lost == 15


def spool_run(store: LocalStore, limits: SpoolLimits) -> None:
    began = RunBegan(TimeOrderedIds(store.clock).new(), "enforce", "hand", store.clock.now())
    reporter = Reporter(lambda store: began, limits, lambda: store)
    with store.transaction() as db:
        reporter.begin(store, db)
        reporter.end(store, db, "ended", Summary(1, 1, 0, 0, 0, 0, 0, 0, 0, 0.1, False, True), {})


@pytest.mark.needs("unshare")
def test_full_disks_lose_nothing_that_was_acknowledged_and_stop_no_run(tmp_path: Path) -> None:
    if subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("cannot mount here, not even in a namespace")
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "lab.report_disk", str(tmp_path)], cwd=ROOT, capture_output=True, timeout=110
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["begin_on_a_full_disk"] == "AGENT-010", "a run that cannot be reported does not begin"
    assert found["end_on_a_full_disk"] == "AGENT-010"
    assert found["ends_stored_afterwards"] == ["broken-off", "ended"]
    assert found["numbers_are_without_a_gap"] or found["events_lost"] > 0
    assert found["server_on_a_full_disk"] == "STORE-006"
    assert found["stored_when_full"] == 0
    assert found["stored_afterwards"] == 1
