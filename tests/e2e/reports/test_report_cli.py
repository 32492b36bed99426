"""`precast report` against a real server; the tests send the records of the node over a real session."""

import asyncio
import json
import subprocess
from collections.abc import Iterator

import pytest

from lab.server_process import PRECAST
from lab.session import Peer, Store
from lab.site import Site
from precast.wire.reports import records as reports
from precast.wire.reports.records import RunEvents
from tests.contract.reports.report_site import began, changed, ended, failed, report_id, summary

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


def ask(site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PRECAST, "report", *words], env=site.environment, capture_output=True, text=True, check=False, timeout=60
    )


async def test_run_is_listed_shown_and_watched(site: Site) -> None:
    async with Peer(site.url, site.enrol("web1").context(), Store()) as node:
        await node.greet()
        start = began(1, catalog="c0ffee" * 8, reason="released", environment="production")
        await node.acknowledged(await node.send(reports.BEGAN, start))
        watching = await asyncio.create_subprocess_exec(
            *[PRECAST, "report", "watch", report_id(1)], env=site.environment, stdout=asyncio.subprocess.PIPE
        )
        assert watching.stdout is not None
        assert b"web1: running (enforce, released)" in await watching.stdout.readline()
        await node.send(reports.EVENTS, RunEvents(report_id(1), 1, [changed("/etc/motd")]))
        assert await watching.stdout.readline() == b"changed  File[/etc/motd]: content: content changed\n"
        last = ended(start, failed("reload"), events=2, summary=summary(changed=1, failed=1, unchanged=7))
        await node.acknowledged(await node.send(reports.ENDED, last))
        output = (await watching.stdout.read()).decode()
        assert "failed   Exec[reload]: returned 1 instead of 0\n         declared at site.pp:3\n" in output
        assert "web1: 1 changed, 1 failed (enforce, released)" in output
        assert await watching.wait() == 4
    shown = ask(site, "show", "web1")
    assert shown.returncode == 4
    assert "because a catalog was released" in shown.stdout
    assert "c0ffeec0ffee, environment production" in shown.stdout
    assert "changed  File[/etc/motd]: content: content changed" in shown.stdout
    listed = ask(site, "list", "--failed", "--json")
    assert [(row["node"], row["failed"]) for row in json.loads(listed.stdout)] == [("web1", 1)]
    document = json.loads(ask(site, "show", report_id(1), "--json").stdout)
    assert [(event["number"], event["resource"]) for event in document["events"]] == [
        (1, "File[/etc/motd]"),
        (2, "Exec[reload]"),
    ]


async def test_run_that_changed_nothing_is_one_line(site: Site) -> None:
    async with Peer(site.url, site.enrol("web2").context(), Store()) as node:
        await node.greet()
        await node.acknowledged(await node.send(reports.ENDED, ended(began(2))))
    listed = ask(site, "list", "--node", "web2")
    assert " in sync" in listed.stdout
    assert ask(site, "show", "web2", "--all").returncode == 0


def test_wrong_arguments_give_clear_errors(site: Site) -> None:
    for words, code, message in (
        (["show", "nowhere"], 66, "nowhere has reported no run"),
        (["show", report_id(99)], 66, "there is no report"),
        (["list", "--state", "over"], 64, "unknown --state 'over'"),
        (["list", "--most", "0"], 64, "--most 0 is not a number"),
        (["lst"], 64, "did you mean 'list'?"),
    ):
        ran = ask(site, *words)
        assert message in ran.stderr, ran
        assert ran.returncode == code, ran
        assert ran.stderr.count("\n") <= 2
