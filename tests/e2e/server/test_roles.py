"""Roles of servers: without a compiler nodes are still served, and queued compiles are done once a compiler starts.

The tests name every route and every message of nodes: a new one that is not added here makes them fail.
"""

import asyncio
import json
import re
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from lab.session import Peer, Store
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.api.sessions import records
from precast.base import digests, https
from precast.wire import futures
from precast.wire import sessions as session
from precast.wire.futures import Bound, Promised, Unpromised, Waiting
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.reports import records as wire_reports
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents
from precast.wire.sessions import Ack, FactsWanted, Hello, LossBody, Record, Resend, Subscribe, Values
from tests.e2e.precast_command import assert_refused
from tests.e2e.precast_server import precast

DEADLINE_S = 60.0
CODE = {
    "manifests/site.pp": "include motd\n",
    "modules/motd/manifests/init.pp": """
class motd {
  file { '/etc/motd': content => "A ${facts['os']['name']}.\\n" }
  file { '/etc/issue': source => 'puppet:///modules/motd/issue' }
}
""",
    "modules/motd/files/issue": "an issue\n",
}


class Fleet:
    """A site with one node. Its server had all roles until the catalog was released, then only api and scheduler."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.code = site, directory / "code"
        self.node: Identity = site.enrol("web1")
        for path, text in CODE.items():
            (self.code / path).parent.mkdir(parents=True, exist_ok=True)
            (self.code / path).write_text(text)

    def facts(self, system: str) -> https.HttpAnswer:
        stable = {"os": {"name": system}}
        body = {"digest": digests.of_value(stable), "volatile": {"uptime": 1}, "stable": stable}
        return self.ask("POST", "/v1/facts", json.dumps(body).encode())

    def ask(self, method: str, path: str, body: bytes = b"") -> https.HttpAnswer:
        return https.call(self.site.url, self.node.context(), method, path, body)

    def deploy(self) -> None:
        self.site.run("env", "deploy", "production", "--from", str(self.code))

    def wait_until_staged(self, other_than: str = "") -> str:
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            done = subprocess.run(
                [PRECAST, "catalog", "show", "web1", "--json"],
                env=self.site.environment,
                capture_output=True,
                check=False,
            )
            if done.returncode == 0 and (staged := json.loads(done.stdout)["staged"]) not in (None, other_than):
                return str(staged)
        raise AssertionError(f"nothing was staged: {done.stderr.decode()}")

    def status(self) -> Any:
        """The status of the site, which has problems while roles are missing."""
        words = [PRECAST, "status", "--json"]
        done = subprocess.run(words, env=self.site.environment, capture_output=True, check=False, timeout=60)
        return json.loads(done.stdout)

    def waiting(self) -> dict[str, int]:
        return {queue["kind"]: queue["waiting"] + queue["held"] for queue in self.status()["queues"]}


@pytest.fixture(scope="module")
def fleet(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("roles")
    with Site(directory / "site", postgres.url(postgres.create_database())) as site:
        fleet = Fleet(site, directory)
        assert fleet.facts("Debian").status == 200
        fleet.deploy()
        fleet.wait_until_staged()
        site.run("release", "web1")
        site.run("node", "policy", "set", "web1", "--enforce", "triggered")
        site.stop()
        site.words = ["--role", "api,scheduler"]
        site.start()
        yield fleet


def test_every_route_of_nodes_answers_while_no_compiler_runs(fleet: Fleet) -> None:
    content = digests.of_bytes(CODE["modules/motd/files/issue"].encode())
    requests = {
        ("post", "/v1/facts"): lambda: fleet.facts("Debian"),
        ("get", "/v1/catalog"): lambda: fleet.ask("GET", "/v1/catalog"),
        ("get", "/v1/policy"): lambda: fleet.ask("GET", "/v1/policy"),
        ("get", "/v1/content/{digest}"): lambda: fleet.ask("GET", f"/v1/content/{content}"),
        # No plan applies it, so the answer is that there is none.
        ("get", "/v1/entries/{digest}"): lambda: fleet.ask("GET", f"/v1/entries/{content}"),
        # No task of this node sends or gets content.
        ("get", "/v1/agent/task-content/{digest}"): lambda: fleet.ask("GET", f"/v1/agent/task-content/{content}"),
        ("put", "/v1/agent/task-content/{digest}"): lambda: fleet.ask("PUT", f"/v1/agent/task-content/{content}"),
        # The node is served another catalog.
        ("post", "/v1/secrets"): lambda: fleet.ask(
            "POST", "/v1/secrets", json.dumps({"catalog": content, "refs": [content]}).encode()
        ),
        # The next test covers the session itself.
        ("get", "/v1/session"): None,
    }
    refused = {
        ("get", "/v1/entries/{digest}"): 404,
        ("get", "/v1/agent/task-content/{digest}"): 404,
        ("put", "/v1/agent/task-content/{digest}"): 409,
        ("post", "/v1/secrets"): 409,
    }
    description = json.loads(https.call(fleet.site.url, _tls_context(fleet), "GET", "/v1/openapi.json").body)
    for_nodes = {
        (method, path)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
        if {"node": []} in operation.get("security", [])
    }
    assert for_nodes == set(requests)
    for name, ask in requests.items():
        if ask is not None:
            assert ask().status == refused.get(name, 200), name


async def test_every_message_of_nodes_is_answered_while_no_compiler_runs(fleet: Fleet) -> None:
    now = datetime.now(UTC)
    began = RunBegan(str(uuid.UUID(int=1)), "noop", "hand", now)
    plain: dict[str, msgspec.Struct] = {
        session.LOSS: LossBody("facts", 1, now, now),
        wire_reports.BEGAN: began,
        wire_reports.EVENTS: RunEvents(began.report, 1, []),
        wire_reports.ENDED: RunEnded(began, "ended", now),
    }
    order, catalog = make_order_id("1" * 32, 1, 1), "0" * 64
    value = msgspec.Raw(b'"x"')
    about_futures = {
        futures.PROMISED: Promised(began.report, catalog, "key", value, 1, now, "store"),
        futures.UNPROMISED: Unpromised(order, catalog, "key", "it failed", now),
        futures.WAITING: Waiting(order, catalog, [], now),
        futures.BOUND: Bound(order, catalog, "File[/a]", [], now),
    }
    plain |= about_futures
    declared = re.findall(r"messages\.add\(\s*(\w+)\.(\w+),", _source(records))
    assert {getattr(getattr(records, module), name) for module, name in declared} == {session.FACTS, *plain}
    assert set(get_args(session.FromNode)) == {Hello, Record, Ack, Resend, Subscribe}
    store, stable = Store(), {"os": {"name": "Debian"}, "unread": 1}
    async with Peer(fleet.site.url, fleet.node.context(), store) as node:
        await node.greet()
        for kind, body in plain.items():
            await node.acknowledged(await node.send(kind, body))
        # The server asks for the stable part of a fact set whose digest it does not know.
        number = await node.send(session.FACTS, {"digest": digests.of_value(stable), "volatile": {}})
        assert {type(await node.receive()), type(await node.receive())} == {Ack, FactsWanted}
        whole = {"digest": digests.of_value(stable), "volatile": {}, "stable": stable}
        assert await node.send(session.FACTS, whole) == number + 1
        await node.acknowledged(number + 1)
        # No such catalog is served to the node.
        await node.send_message(Subscribe(catalog))
        assert (await node.expect(Values)).error
        ordered = await _order_facts(fleet, node)
        await node.send_message(Resend(ordered - 1))
        assert (await node.expect(Record)).number == ordered
        await node.send_message(Ack(ordered))


async def _order_facts(fleet: Fleet, node: Peer) -> int:
    """Order the node to send its facts; returns the number of the order."""
    await asyncio.to_thread(fleet.site.run, "facts", "collect", "web1")
    return (await node.expect(Record)).number


def test_work_for_the_compiler_waits_until_one_starts(fleet: Fleet) -> None:
    served = fleet.ask("GET", "/v1/catalog")
    staged = fleet.wait_until_staged()
    (fleet.code / "modules/motd/files/issue").write_text("another issue\n")
    fleet.deploy()
    assert fleet.facts("Fedora").status == 200
    end_s = time.monotonic() + DEADLINE_S
    while not {"decide", "redecide"} <= set(fleet.waiting()):
        assert time.monotonic() < end_s, fleet.waiting()
    assert fleet.wait_until_staged() == staged
    assert fleet.ask("GET", "/v1/catalog").body == served.body
    assert _processes_below(fleet.site.pid) == []
    refused = subprocess.run(
        [PRECAST, "release", "web1", "--wait", "1s"], env=fleet.site.environment, capture_output=True, text=True
    )
    assert (refused.returncode, "[CLI-053]" in refused.stderr) == (75, True), refused.stderr
    assert fleet.ask("GET", "/v1/catalog").body == served.body

    compiler = fleet.site.twin()
    compiler.words = ["--role", "compiler"]
    compiler.start()
    try:
        after = fleet.wait_until_staged(other_than=staged)
        names = [server["name"] for server in fleet.status()["servers"] if not server["has_port"]]
        assert [name.partition(" ")[2] for name in names] == ["[compiler]"]
        while fleet.waiting():
            assert time.monotonic() < end_s, fleet.waiting()
        after = fleet.wait_until_staged()
        fleet.site.run("release", "web1")
    finally:
        compiler.close()
    response = fleet.ask("GET", "/v1/catalog")
    assert digests.of_bytes(response.body) == after
    assert b"A Fedora." in response.body
    assert fleet.ask("GET", f"/v1/content/{digests.of_bytes(b'another issue' + bytes([10]))}").status == 200


def test_server_without_the_role_api_listens_nowhere(fleet: Fleet) -> None:
    compiler = fleet.site.twin()
    compiler.words = ["--role", "compiler,scheduler", "--workers", "2"]
    compiler.start()
    try:
        with socket.create_connection(("127.0.0.1", fleet.site.port), DEADLINE_S):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", compiler.port), DEADLINE_S)
    finally:
        compiler.close()


@pytest.mark.parametrize("word", ["", "compilers", "api;compiler"])
def test_unknown_role_is_refused(tmp_path: Path, word: str) -> None:
    ran = precast("server", "--data", tmp_path, "--role", word)
    assert_refused(ran, 64, "CONFIG-005", "some of api, compiler, scheduler")


def _tls_context(fleet: Fleet) -> Any:
    return https.trust_authority(Path(fleet.site.environment["PRECAST_CA"]).read_text())


def _source(module: Any) -> str:
    return Path(module.__file__).read_text()


def _processes_below(pid: int) -> list[str]:
    """The processes that a server has started besides its signer."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for child in children if b"\0signer\0" not in Path(f"/proc/{child}/cmdline").read_bytes()]
