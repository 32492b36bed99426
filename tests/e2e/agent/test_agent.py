"""Real daemons with a real server: enrolment, facts, restarts, orders, revocation, copies of machines, and memory."""

import json
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import DEADLINE_S, AgentProcess
from lab.old_certificates import age
from lab.scripted_server import ScriptedServer
from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from tests.e2e.precast_command import assert_refused
from tests.e2e.precast_server import precast

pytestmark = pytest.mark.timeout(180)

MAX_RSS_BYTES = 35_000_000
ORDERED = "received an order: collect"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


def enrolled(site: Site, name: str) -> AgentProcess:
    site.enrol(name)
    root = site.directory / "nodes" / name
    furnish(root, "gold")
    return AgentProcess(root, site.url)


def furnish(root: Path, tier: str) -> None:
    """Write an external fact and an os-release file."""
    directory = root / "etc/precast/facts.d"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tier.json").write_text(json.dumps({"tier": tier}))
    (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')


def facts_records(agent: AgentProcess) -> list[dict[str, Any]]:
    """The facts in an agent's store, oldest first."""
    path = agent.root / "var/lib/precast/agent/state.db"
    with closing(sqlite3.connect(path, timeout=30)) as store:
        rows = store.execute("SELECT body FROM record WHERE kind = 'facts' ORDER BY id").fetchall()
    return [json.loads(body) for (body,) in rows]


def decided(site: Site, node: str, tier: str) -> dict[str, Any]:
    """Wait until the server has decided on facts of this tier, and return what it shows."""
    until_s = time.monotonic() + DEADLINE_S
    while True:
        ran = precast("facts", "show", node, "--json", env=site.environment)
        if ran.code == 0 and (view := json.loads(ran.out))["facts"]["tier"] == tier:
            return dict(view)
        assert time.monotonic() < until_s, ran
        time.sleep(0.1)


def collected_again(agent: AgentProcess, before: dict[str, Any]) -> dict[str, Any]:
    last = before["facts"]["collected_at"]
    agent.until(lambda status: status["facts"]["collected_at"] != last)
    return agent.until_settled()


def test_daemon_connects_and_its_facts_arrive_without_a_run(site: Site) -> None:
    with enrolled(site, "web1") as agent:
        status = agent.until_settled()
        assert (status["code"], status["running"], status["connection"]["url"]) == (0, True, site.url)
        assert status["connection"]["epoch"] == 1
        assert decided(site, "web1", "gold")["decision"].endswith("changed: compile")
        agent.until(lambda status: "certificate" in status)
        assert agent.status()["certificate"]["name"] == "web1"
        assert agent.stop() == 0
    status = agent.status()
    assert (status["code"], status["running"], status["connected"]) == (1, False, False)


def test_stable_facts_are_sent_only_when_they_have_changed(site: Site) -> None:
    with enrolled(site, "web2") as agent:
        before = agent.until_settled()
        site.run("facts", "collect", "web2")
        again = collected_again(agent, before)
        assert [record.get("stable") is not None for record in facts_records(agent)] == [True, False]
        furnish(agent.root, "silver")
        site.run("facts", "collect", "web2")
        collected_again(agent, again)
        assert [record.get("stable") is not None for record in facts_records(agent)] == [True, False, True]
        assert decided(site, "web2", "silver")["decision"] == "1 changed: compile"
        history = site.run("facts", "history", "web2")
        assert [(row["path"], row["before"], row["after"]) for row in history] == [("/tier", "gold", "silver")]


def test_node_that_was_purged_and_enrolled_again_gets_its_orders(site: Site) -> None:
    with enrolled(site, "back1") as agent:
        status = agent.until_settled()
        for _ in range(2):
            site.run("facts", "collect", "back1")
            status = collected_again(agent, status)
        agent.stop()
    site.run("node", "purge", "back1", "--force")
    Identity(agent.root).certificate.unlink()
    site.enrol("back1")
    # The agent has its old store, with the numbers of the orders it received before.
    with AgentProcess(agent.root, site.url) as agent:
        decided(site, "back1", "gold")
        before = agent.log.count(ORDERED)
        site.run("facts", "collect", "back1")
        agent.until(lambda status: agent.log.count(ORDERED) > before)


def test_node_gets_orders_whose_numbers_a_restored_server_uses_again(tmp_path: Path) -> None:
    with Site(tmp_path / "data") as site:
        with enrolled(site, "set1") as agent:
            status = agent.until_settled()
            site.run("db", "backup", str(tmp_path / "backup"), "--data", str(site.directory), "--without-keys")
            site.run("facts", "collect", "set1")
            collected_again(agent, status)
            agent.stop()
            before = agent.log.count(ORDERED)
        site.stop()
        for file in site.directory.glob("precast.db*"):
            file.unlink()
        site.run("db", "restore", str(tmp_path / "backup"), "--data", str(site.directory))
        site.start()
        site.run("facts", "collect", "set1")
        with AgentProcess(agent.root, site.url) as agent:
            agent.until(lambda status: agent.log.count(ORDERED) > before)


def test_agent_reconnects_to_a_restarted_server_and_sends_no_facts_twice(site: Site) -> None:
    with enrolled(site, "web3") as agent:
        agent.until_settled()
        for end in (site.stop, site.kill):
            end()
            away = agent.until(lambda status: not status["connected"])
            assert away["code"] == 2
            assert away["connection"]["trouble"]
            site.start()
            back = agent.until_connected()
        assert back["connection"]["epoch"] == 3
        site.run("facts", "collect", "web3")
        collected_again(agent, back)
        assert [record.get("stable") is not None for record in facts_records(agent)] == [True, False]


def test_facts_collected_while_the_server_was_unreachable_are_sent_later(site: Site) -> None:
    agent = enrolled(site, "web4")
    site.stop()
    with agent:
        agent.until(lambda status: status["spool"]["unsent"] == 1 if "spool" in status else False)
        assert "refused" in agent.until(lambda status: "connection" in status)["connection"]["trouble"]
        site.start()
        agent.until_settled()
        decided(site, "web4", "gold")


def test_revoked_node_is_disconnected_and_its_status_says_why(site: Site) -> None:
    with enrolled(site, "web5") as agent:
        agent.until_settled()
        subprocess.run([PRECAST, "ca", "revoke", "web5"], env=site.environment, check=True, capture_output=True)
        status = agent.until(lambda status: not status["connected"])
        assert status["code"] == 2
        assert "does not accept this machine's certificate" in status["connection"]["trouble"]
        assert agent.process is not None
        assert agent.process.poll() is None


def test_second_daemon_on_one_store_is_refused(site: Site) -> None:
    with enrolled(site, "web7") as agent:
        agent.until_connected()
        ran = precast("agent", "run", "--root", agent.root, "--url", site.url)
        assert_refused(ran, 73, "AGENT-014")


def test_settings_are_reloaded_by_a_signal_and_invalid_ones_are_logged(site: Site, tmp_path: Path) -> None:
    agent = enrolled(site, "web8")
    file = agent.root / "etc/precast/agent.toml"
    file.write_text('url = "https://127.0.0.1:1"\n')
    agent.options = []
    with agent:
        agent.until(lambda status: "127.0.0.1:1" in status.get("connection", {}).get("url", ""))
        file.write_text('url = "nonsense"\nspool_record = 1\n')
        assert agent.process is not None
        agent.process.send_signal(signal.SIGHUP)
        agent.until(lambda status: "not reloaded" in agent.log)
        file.write_text(f'url = "{site.url}"\nlog_file = "/var/log/agent.log"\n')
        agent.process.send_signal(signal.SIGHUP)
        agent.until_connected()
        log = agent.root / "var/log/agent.log"
        log.rename(log.with_suffix(".1"))  # as rotation does
        assert agent.stop() == 0
        assert "precast agent stops" in log.read_text()


def test_machine_that_is_enrolled_later_connects_then(site: Site) -> None:
    root = site.directory / "nodes" / "late"
    furnish(root, "gold")
    with AgentProcess(root, site.url) as agent:
        status = agent.until(lambda status: "connection" in status)
        assert "AGENT-003" in status["connection"]["trouble"]
        site.enrol("late")
        agent.until_settled()


def test_certificate_that_is_not_due_is_not_renewed(site: Site) -> None:
    with enrolled(site, "web9") as agent:
        agent.until_settled()
        before = (agent.root / "var/lib/precast/agent/key.pem").read_bytes()
        not_due = precast("agent", "renew", "--if-due", "--json", "--root", agent.root, "--url", site.url)
        assert (not_due.code, json.loads(not_due.out)["renewed"]) == (0, False)
        assert (agent.root / "var/lib/precast/agent/key.pem").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "days"),
    [("due", 25), ("ended", 40)],
    ids=["after two thirds of its life", "after it has expired, within the grace period"],
)
def test_certificate_is_renewed_automatically_and_the_new_one_is_used(site: Site, name: str, days: int) -> None:
    identity = site.enrol(name)
    age(site, identity, name, timedelta(days=days))
    old = identity.name(), identity.current().serial_number
    furnish(identity.directory.parents[3], "gold")
    with AgentProcess(identity.directory.parents[3], site.url) as agent:
        agent.until(lambda status: "is renewed until" in agent.log)
        status = agent.until_settled()
        assert (identity.name(), identity.current().serial_number) != old
        left = datetime.fromisoformat(status["certificate"]["not_after"]) - datetime.now(UTC)
        assert timedelta(days=29) < left < timedelta(days=31)
        # The server has seen the new certificate and lists it.
        serial = f"{identity.current().serial_number:x}"
        shown = [row for row in site.run("ca", "list") if row["node"] == name and row["serial"].endswith(serial)]
        assert len(shown) == 1


def test_facts_sent_by_hand_beside_the_daemon_are_the_newest(site: Site) -> None:
    with enrolled(site, "web10") as agent:
        agent.until_settled()
        furnish(agent.root, "bronze")
        ran = precast("agent", "facts", "--root", agent.root, "--url", site.url)
        assert (ran.code, ran.out) == (0, "sent: all facts\n")
        agent.stop()
        agent.start()
        agent.until_settled()
        decided(site, "web10", "bronze")


def test_daemon_without_a_valid_server_address_is_refused(tmp_path: Path) -> None:
    assert_refused(precast("agent", "--root", tmp_path), 64, "CLI-020")
    assert_refused(precast("agent", "--root", tmp_path, "--url", "http://x"), 64, "HTTP-001")


def test_systemd_is_notified_that_the_daemon_is_ready_connected_and_alive(site: Site, tmp_path: Path) -> None:
    agent = enrolled(site, "noted")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(DEADLINE_S)
        agent.environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}
        with agent:
            received: list[str] = []
            while received.count("WATCHDOG=1") < 3 or f"STATUS=connected to {site.url}" not in received:
                received += listening.recv(1000).decode().splitlines()
            assert "READY=1" in received
            agent.stop()
            while "STOPPING=1" not in received:
                received += listening.recv(1000).decode().splitlines()


def test_child_processes_get_the_flags_of_the_daemon(site: Site) -> None:
    agent = enrolled(site, "flagged")
    (agent.root / "srv/facts").mkdir(parents=True)
    (agent.root / "srv/facts/tier.json").write_text('{"tier": "by flag"}')
    agent.options += ["--facts-d", "/srv/facts"]
    with agent:
        agent.until_settled()
        decided(site, "flagged", "by flag")


def test_status_of_a_machine_without_an_agent_says_so(tmp_path: Path) -> None:
    ran = precast("agent", "status", "--root", tmp_path)
    assert (ran.code, ran.out, ran.err) == (1, "agent        not running\n", "")
    assert list(tmp_path.iterdir()) == []


def test_idle_daemon_is_small(site: Site) -> None:
    with enrolled(site, "small") as agent:
        agent.until_settled()
        agent.until(lambda status: "certificate" in status)
        print(f"\nagent with its connection up: {agent.rss_bytes / 1e6:.1f} MB")
        assert agent.rss_bytes <= MAX_RSS_BYTES


async def test_daemon_stays_small_over_many_connections(tmp_path: Path) -> None:
    async with ScriptedServer(tmp_path / "server") as server:
        server.enrol(tmp_path / "node", "web1")
        with AgentProcess(tmp_path / "node", server.url) as agent:
            for _ in range(100):
                await (await server.accept()).greet(cycle_s=0.01)
            print(f"\nagent after 100 connections: {agent.rss_bytes / 1e6:.1f} MB")
            assert agent.rss_bytes <= MAX_RSS_BYTES
