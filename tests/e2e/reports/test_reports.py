"""Runs on real nodes, reported by real daemons to a real server: live, complete after any interruption, and without secrets."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import DEADLINE_S
from lab.agent_runs import apply, compiled, enrolled, paused, reports, spooled, until
from lab.server_process import PRECAST
from lab.site import Site

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


def show(site: Site, subject: str) -> dict[str, Any]:
    done = subprocess.run(
        [PRECAST, "report", "show", subject, "--json"],
        env=site.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_run_is_reported_with_its_changes_failures_logs_and_diffs(site: Site) -> None:
    with enrolled(site, "web1") as agent:
        agent.until_connected()
        (agent.root / "etc").mkdir(exist_ok=True)
        (agent.root / "etc/motd").write_text("old\n")
        catalog = compiled(
            agent.root,
            "file { '/etc/motd': content => \"new\\n\" } file { '/nowhere/x': content => 'x' }"
            " -> file { '/etc/after': content => 'x' } notify { 'hello': }",
        )
        assert apply(agent.root, catalog) == 4
        (row,) = until(lambda: reports(site, "--node", "web1", "--state", "ended"))
    assert (row["mode"], row["reason"], row["changed"], row["failed"], row["skipped"]) == ("enforce", "hand", 2, 1, 1)
    shown = show(site, "web1")
    by_name = {event["resource"]: event for event in shown["events"]}
    assert "-old\n+new" in by_name["File[/etc/motd]"]["events"][0]["diff"]
    assert by_name["File[/nowhere/x]"]["status"] == "failed"
    assert by_name["File[/etc/after]"]["reason"].startswith("it depends on File[/nowhere/x]")
    assert set(shown["phases"]) == {"plan", "apply", "finish"}
    assert by_name["File[/nowhere/x]"]["line"] == 1


def test_change_made_outside_precast_is_reported_as_corrective(site: Site) -> None:
    with enrolled(site, "web2") as agent:
        agent.until_connected()
        (agent.root / "etc").mkdir(exist_ok=True)
        catalog = compiled(agent.root, "file { '/etc/motd': content => \"new\\n\" }")
        assert apply(agent.root, catalog) == 0
        (agent.root / "etc/motd").write_text("mine\n")
        assert apply(agent.root, catalog) == 0
        assert apply(agent.root, catalog, "--noop") == 0
        rows = until(lambda: len(listed := reports(site, "--node", "web2", "--state", "ended")) == 3 and listed)
    assert [(row["mode"], row["changed"], row["corrective"], row["events"]) for row in rows] == [
        ("noop", 0, 0, 0),
        ("enforce", 1, 1, 1),
        ("enforce", 1, 0, 1),
    ]


def test_secret_never_leaves_the_node(site: Site) -> None:
    with enrolled(site, "web3") as agent:
        agent.until_connected()
        (agent.root / "etc").mkdir(exist_ok=True)
        (agent.root / "etc/key").write_text("older-hunter2\n")
        code = (
            "file { '/etc/key': content => Sensitive(\"hunter2\\n\") }"
            " file { '/nowhere/key': content => Sensitive('hunter2') }"
            " notify { 'told': message => Sensitive('hunter2') }"
        )
        assert apply(agent.root, compiled(agent.root, code)) == 4
        until(lambda: reports(site, "--node", "web3", "--state", "ended"))
        assert (agent.root / "etc/key").read_text() == "hunter2\n"
        assert b"File[/etc/key]" in spooled(agent.root)
        assert b"hunter2" not in spooled(agent.root)
    assert "hunter2" not in json.dumps(show(site, "web3"))


def test_long_run_is_seen_while_it_goes_on(site: Site) -> None:
    with enrolled(site, "web4") as agent:
        agent.until_connected()
        with paused(agent.root) as running:
            (row,) = until(lambda: [row for row in reports(site, "--node", "web4") if row["events"]])
            assert row["state"] == "running"
            assert 0 < row["changed"] < 60
            running.communicate(timeout=DEADLINE_S)
        (row,) = until(lambda: reports(site, "--node", "web4", "--state", "ended"))
        assert (row["changed"], row["events"], row["lost"]) == (60, 60, 0)


def test_machine_that_is_not_enrolled_spools_nothing(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    assert apply(tmp_path, compiled(tmp_path, "file { '/etc/motd': content => 'x' }")) == 0
    assert spooled(tmp_path) == b""
