"""An operation and its audit entry: every route that changes something leaves exactly one entry of its caller, or nothing at all.

The table is written by hand, and a route that is missing from it fails the test. Each call is made twice: first while the database refuses
entries of the audit log, so that the commit fails; then nothing may have changed. The second call must leave the entry.
"""

import base64
import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base import digests, https
from tests.contract.identity.identity_site import Key, new_key, request_of
from tests.e2e.precast_command import DEADLINE_S, assert_fine
from tests.e2e.precast_server import HttpResponse, Server, running

# What each route that is not a GET leaves in the audit log.
OPERATIONS = """
POST   /v1/tokens/person                              token.create
DELETE /v1/tokens/{id}                                token.revoke
POST   /v1/tokens/enrolment                           token.create
POST   /v1/enrolments                                 certificate.enrol
POST   /v1/renewals                                   certificate.renew
POST   /v1/requests                                   certificate.request
POST   /v1/requests/{node}/signature                  certificate.sign
POST   /v1/requests/{node}/rejection                  certificate.reject
POST   /v1/policies                                   node.policy
POST   /v1/classifications                            node.classify
POST   /v1/rules/{number}                             rule.set
DELETE /v1/rules/{number}                             rule.remove
POST   /v1/windows/{window}                           window.set
POST   /v1/windows/{window}/bindings                  window.bind
DELETE /v1/windows/{window}/bindings                  window.unbind
DELETE /v1/windows/{window}                           window.remove
POST   /v1/refreshes                                  node.refresh
POST   /v1/collections                                facts.collect
POST   /v1/deactivations                              node.deactivate
POST   /v1/reactivations                              node.reactivate
POST   /v1/environments/{environment}/versions        environment.deploy
POST   /v1/environments/{environment}/rollbacks       environment.deploy
POST   /v1/environments/{environment}/policies        environment.policy
POST   /v1/environments/{environment}/approvals       environment.approvals
POST   /v1/environments/{environment}/exports         environment.exports
POST   /v1/environments/{environment}/futures         future.put
POST   /v1/environments/{environment}/secret-policy   secret.policy
POST   /v1/secret-sources/refreshes                   secret.refresh
POST   /v1/environments/{environment}/signing         environment.signing
POST   /v1/nodes/{node}/catalog/decision              catalog.compile
POST   /v1/releases                                   catalog.release
POST   /v1/rollbacks                                  catalog.rollback
POST   /v1/approvals/{request}/approval               approval.approve
POST   /v1/approvals/{request}/rejection              approval.reject
POST   /v1/approvals/{request}/withdrawal             approval.withdraw
POST   /v1/runs                                       run.start
POST   /v1/runs/{run}/stop                            run.stop
POST   /v1/runs/{run}/abort                           run.abort
POST   /v1/runs/{run}/resume                          run.resume
POST   /v1/runs/{run}/retry                           run.retry
POST   /v1/commands                                   command.run
POST   /v1/commands/{run}/stop                        run.stop
POST   /v1/commands/{run}/abort                       run.abort
POST   /v1/commands/{run}/resume                      run.resume
POST   /v1/commands/{run}/retry                       run.retry
POST   /v1/actions                                    action.create
POST   /v1/actions/{action}/{change}                  action.cancel
POST   /v1/command-actions                            action.create
POST   /v1/command-actions/{action}/{change}          action.cancel
POST   /v1/plans                                      plan.start
POST   /v1/plans/{run}/stop                           plan.stop
POST   /v1/plans/{run}/abort                          plan.abort
POST   /v1/plans/{run}/resume                         plan.resume
POST   /v1/plans/{run}/retry                          plan.retry
POST   /v1/plans/{run}/approve                        plan.approve
POST   /v1/plans/{run}/run-task                       plan.start
POST   /v1/web/session                                web.sign-in
DELETE /v1/web/session                                web.sign-out
POST   /v1/authority/rotation                         authority.prepare
POST   /v1/authority/retirement                       authority.retire
POST   /v1/certificates/{node}/revocation             certificate.revoke
POST   /v1/certificates/{node}/cleaning               certificate.clean
POST   /v1/nodes/{node}/machine                       node.choose-machine
POST   /v1/purges                                     node.purge
"""
# These change nothing that anybody has to answer for: questions, records that nodes send about themselves, and content that has no
# effect before somebody deploys it. A deployment from a repository is answered before it is done, and then has an entry:
# tests/e2e/code/test_hooks.py.
NO_DEEDS = {
    "POST /v1/secrets",
    "POST /v1/targets",
    "POST /v1/queries",
    "POST /v1/previews",
    "POST /v1/previews/rollback",
    "POST /v1/readiness",
    "POST /v1/facts",
    "POST /v1/environments/{environment}/missing",
    "POST /v1/environments/{environment}/content",
    "POST /v1/hooks/{environment}",
    "POST /v1/environments/{environment}/deployments",
    "POST /v1/plans/check",
    "PUT /v1/agent/task-content/{digest}",
}
# The tables of what people and nodes decide; others change by themselves, such as leases and the queue of work.
TABLES = (
    *("node", "certificate", "enrolment_request", "enrolment_token", "person_token", "web_session", "node_policy"),
    *(
        "node_rule",
        "node_said",
        "session_machine",
        "environment",
        "environment_version",
        "release_log",
        "node_release",
        "job",
        "attempt",
        "stream_record",
    ),
    *("approval_request", "approval_decision", "audit", "audit_chain", "maintenance_window", "window_binding"),
    *("action", "action_node", "action_due"),
)
WEB1 = {"targets": ["web1"]}


def parse(table: str) -> dict[str, str]:
    rows = [line.split() for line in table.splitlines() if line]
    return {f"{method} {path}": action for method, path, action in rows}


class Walk:
    """One server, and what the calls so far have made on it."""

    def __init__(self, server: Server, place: Path) -> None:
        self.server = server
        self.place = place
        self.done: dict[str, str] = {}
        self.tables: tuple[str, ...] = TABLES
        self._database = server.data / "precast.db"

    def call(
        self,
        name: str,
        body: object = None,
        *,
        token: str | None = None,
        actor: str = "person:admin",
        audited: str | None = None,
        headers: dict[str, str] | None = None,
        query: str = "",
        **path: str,
    ) -> Any:
        """Call a route twice: while no entry can be written, and normally. Returns the body of the second answer."""
        method, template = name.split(" ")
        route = template.format(**path) + query
        credentials = None if token == "" else token or self.server.admin

        def call() -> HttpResponse:
            data = None if body is None else json.dumps(body).encode()
            return self.server.ask(method, route, credentials, data, headers=headers)

        before = self._state()
        with self._no_entries():
            refused = call()
        assert refused.status >= 400, (name, refused)
        assert self._state() == before, name
        count = self._entries(actor)
        answer = call()
        assert answer.status < 300, (name, answer)
        added = self._entries(actor)[len(count) :]
        expected = audited or parse(OPERATIONS)[name]
        assert [(entry[0], entry[1]) for entry in added] == [(actor, expected)], (name, added)
        if audited is None:
            self.done[name] = expected
        return answer.body

    def ask(self, method: str, path: str, token: str | None = None) -> Any:
        answer = self.server.ask(method, path, token or self.server.admin)
        assert answer.status == 200, answer
        return answer.body

    def until(self, path: str, is_expected: Callable[[Any], bool]) -> Any:
        deadline_s = time.monotonic() + DEADLINE_S
        while True:
            answer = self.server.ask("GET", path, self.server.admin)
            if answer.status == 200 and is_expected(answer.body):
                return answer.body
            assert time.monotonic() < deadline_s, answer

    @contextlib.contextmanager
    def _no_entries(self) -> Iterator[None]:
        """While the block runs, the database refuses entries of the audit log."""
        self.execute("CREATE TRIGGER no_entries BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no entries'); END")
        try:
            yield
        finally:
            self.execute("DROP TRIGGER no_entries")

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self._database, timeout=DEADLINE_S)) as database, database:
            return database.execute(statement).fetchall()

    def _state(self) -> dict[str, list[str]]:
        return {table: sorted(map(repr, self.execute(f"SELECT * FROM {table}"))) for table in self.tables}

    def _entries(self, actor: str) -> list[tuple[Any, ...]]:
        rows = self.execute("SELECT actor, action, target FROM audit ORDER BY chain, sequence")
        return [row for row in rows if row[0] == actor]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    place = tmp_path_factory.mktemp("operations")
    with running(Server.init(place / "data")) as server:
        yield Walk(server, place)


def test_every_route_that_changes_something_leaves_one_entry_or_nothing(walk: Walk) -> None:
    """One walk in order, because each call needs what earlier ones have made."""
    people = walk_tokens(walk)
    walk_enrolment(walk)
    walk_nodes(walk)
    walk_environment(walk)
    walk_catalogs(walk, people)
    walk_actions(walk, people)
    walk_jobs(walk, people)
    walk_plans(walk)
    walk_browser(walk)
    walk_ends(walk)
    walk_authority(walk)
    document = walk.ask("GET", "/v1/openapi.json")
    routes = {
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method in operations
        if method != "get"
    }
    assert routes == parse(OPERATIONS).keys() | NO_DEEDS
    assert walk.done == parse(OPERATIONS)
    assert_fine(walk.server.command("audit", "verify"))


def walk_tokens(walk: Walk) -> dict[str, str]:
    people = {}
    for name, role in (("bob", "operator"), ("eve", "commands"), ("old", "viewer")):
        made = walk.call("POST /v1/tokens/person", {"person": name, "role": role})
        people[name] = made["token"]
    walk.call("DELETE /v1/tokens/{id}", id=made["id"])
    return people


def walk_enrolment(walk: Walk) -> None:
    # The signer counts uses too, also of the call whose commit failed.
    token = walk.call("POST /v1/tokens/enrolment", {"pattern": "web*", "uses": 10})["token"]
    key, renewed = new_key(), new_key()
    body = {"request": request_of(key, "web1"), "token": token}
    issued = walk.call("POST /v1/enrolments", body, token="", actor="node:web1")
    request = request_of(renewed, "web1")
    der = x509.load_pem_x509_csr(request.encode()).public_bytes(serialization.Encoding.DER)
    proof = base64.b64encode(key.sign(der, ec.ECDSA(hashes.SHA256()))).decode()
    renewal = {"request": request, "certificate": issued["certificate"], "proof": proof}
    body = walk.call("POST /v1/renewals", renewal, token="", actor="node:web1")
    write_node(walk.place / "web1", renewed, body["certificate"])
    for name in ("asked1", "asked2"):
        walk.call("POST /v1/requests", {"request": request_of(new_key(), name)}, token="", actor="address:127.0.0.1")
    walk.call("POST /v1/requests/{node}/signature", {}, node="asked1")
    walk.call("POST /v1/requests/{node}/rejection", {"why": "unknown"}, node="asked2")
    stable = {"os": {"name": "Debian"}, "networking": {"hostname": "web1"}}
    facts = {"digest": digests.of_value(stable), "volatile": {}, "stable": stable}
    sent = walk.server.ask("POST", "/v1/facts", body=json.dumps(facts).encode(), node=walk.place / "web1")
    assert sent.status == 200, sent


def write_node(place: Path, key: Key, certificate: str) -> None:
    place.mkdir()
    form = serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (place / "key.pem").write_bytes(pem)
    (place / "certificate.pem").write_text(certificate)


def walk_nodes(walk: Walk) -> None:
    walk.call("POST /v1/policies", {"nodes": WEB1, "enforce": "always"})
    walk.call("POST /v1/classifications", {"nodes": WEB1, "values": {"environment": "production"}})
    walk.call("POST /v1/rules/{number}", {"name": "db*", "role": "db"}, number="7")
    walk.call("DELETE /v1/rules/{number}", number="7")
    walk.call("POST /v1/windows/{window}", {"rules": ["Sun 02:00 4h"]}, window="sunday")
    walk.call("POST /v1/windows/{window}/bindings", {"target": "web1"}, window="sunday")
    walk.call("DELETE /v1/windows/{window}/bindings", window="sunday", query="?target=web1")
    walk.call("DELETE /v1/windows/{window}", window="sunday")
    for name in ("refreshes", "collections", "deactivations", "reactivations"):
        walk.call(f"POST /v1/{name}", {"nodes": WEB1, "why": "asked"})


def deploy(walk: Walk, text: str) -> str:
    """Deploy other code; returns its version."""
    place = walk.place / text
    (place / "manifests").mkdir(parents=True)
    (place / "manifests/site.pp").write_text(f"node default {{ notify {{ '{text}': }} }}\n")
    assert_fine(walk.server.command("env", "deploy", "production", "--from", place))
    return str(walk.server.read("env", "list")[0]["current"]["version"])


def walk_environment(walk: Walk) -> None:
    versions = [deploy(walk, text) for text in ("one", "two", "three")]
    name = "production"
    walk.call("POST /v1/environments/{environment}/versions", {"version": versions[0]}, environment=name)
    walk.call("POST /v1/environments/{environment}/rollbacks", {"why": "worse"}, environment=name)


def walk_catalogs(walk: Walk, people: dict[str, str]) -> None:
    walk.call("POST /v1/nodes/{node}/catalog/decision", node="web1")
    release = {"nodes": WEB1, "why": "tested"}
    staged = [until_staged(walk, "")]
    walk.call("POST /v1/releases", release)
    deploy(walk, "four")
    staged.append(until_staged(walk, staged[-1]))
    walk.call("POST /v1/releases", release)
    walk.call("POST /v1/rollbacks", release)
    walk.call("POST /v1/environments/{environment}/approvals", {"count": 1}, environment="production")
    for decision, token, actor in (
        ("rejection", walk.server.admin, "person:admin"),
        ("withdrawal", people["bob"], "person:bob"),
        ("approval", walk.server.admin, "person:admin"),
    ):
        walk.call("POST /v1/releases", release, token=people["bob"], actor="person:bob", audited="approval.request")
        (request,) = [row["id"] for row in walk.ask("GET", "/v1/approvals") if row["state"] == "open"]
        walk.call(
            f"POST /v1/approvals/{{request}}/{decision}", {"why": "so"}, token=token, actor=actor, request=request
        )
    walk.call("POST /v1/environments/{environment}/approvals", {"count": 0}, environment="production")
    walk.call("POST /v1/environments/{environment}/signing", {"required": "none"}, environment="production")
    walk.call("POST /v1/environments/{environment}/policies", {"policy": "automatic"}, environment="production")
    walk.call("POST /v1/environments/{environment}/exports", {"exports": "staged"}, environment="production")
    walk.call("POST /v1/environments/{environment}/futures", {"key": "k", "value": "x"}, environment="production")
    walk.call("POST /v1/environments/{environment}/secret-policy", {"by_facts": "refuse"}, environment="production")
    walk.call("POST /v1/secret-sources/refreshes", {})


def until_staged(walk: Walk, before: str) -> str:
    view = walk.until("/v1/nodes/web1/catalog", lambda view: view["staged"] not in (None, before))
    return str(view["staged"])


def walk_jobs(walk: Walk, people: dict[str, str]) -> None:
    """The node is not connected: jobs wait for it, until they are ended or it was looked for once."""
    waiting, trying = {"away_s": 3600}, {"tries": 1}
    starts: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("runs", {}, "admin"),
        ("commands", {"argv": ["true"]}, "eve"),
    )
    for kind, body, person in starts:

        def call(name: str, body: Any = None, *, kind: str = kind, person: str = person, **path: Any) -> Any:
            return walk.call(f"POST /v1/{kind}{name}", body, token=people.get(person), actor=f"person:{person}", **path)

        job = call("", {"nodes": WEB1, "limits": waiting, **body})["id"]
        # From now on, the driver of jobs writes into these by itself.
        walk.tables = tuple(table for table in TABLES if table not in ("job", "attempt", "stream_record"))
        for verb in ("stop", "resume", "abort"):
            call(f"/{{run}}/{verb}", run=job)
            if verb != "resume":
                walk.until(f"/v1/runs/{job}", lambda view: view["ended_at"] is not None)
        job = call("", {"nodes": WEB1, "limits": trying, **body})["id"]
        walk.until(f"/v1/runs/{job}", lambda view: view["reasons"] == {"FAILED(unreachable)": 1} and view["ended_at"])
        call("/{run}/retry", run=job)


def walk_actions(walk: Walk, people: dict[str, str]) -> None:
    """Actions that are due in an hour: no scheduler changes them meanwhile."""
    at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for path, work, person in (
        ("actions", {"kind": "facts"}, "admin"),
        ("command-actions", {"kind": "command", "argv": ["true"]}, "eve"),
    ):
        who: dict[str, Any] = {"token": people.get(person), "actor": f"person:{person}"}
        new = {"work": work, "nodes": WEB1, "times": {"at": at}}
        action = walk.call(f"POST /v1/{path}", new, **who)["id"]
        for change in ("pause", "resume", "cancel"):
            name = f"POST /v1/{path}/{{action}}/{{change}}"
            expected = None if change == "cancel" else f"action.{change}"
            walk.call(name, audited=expected, action=action, change=change, **who)


def walk_plans(walk: Walk) -> None:
    """A plan for a node that is not connected, so that its tasks wait; then for one that is looked for once."""
    task = "- {id: look, type: skipped, roles: ['*'], approval: sure?, test_pre: {file: /}}"
    source = {"name": "look", "files": [{"path": "look.yaml", "text": task}]}
    run = walk.call("POST /v1/plans", {"source": source, "nodes": WEB1})["run"]["id"]
    walk.call("POST /v1/plans/{run}/approve", {"task": "look"}, run=run)
    for verb in ("stop", "resume", "abort"):
        walk.call(f"POST /v1/plans/{{run}}/{verb}", {} if verb == "resume" else None, run=run)
        if verb != "resume":
            walk.until(f"/v1/plans/{run}", lambda view: view["run"]["ended_at"] is not None)
    task = "- {id: look, type: skipped, roles: ['*'], test_pre: {file: /}}"
    source = {"name": "look", "files": [{"path": "look.yaml", "text": task}]}
    run = walk.call("POST /v1/plans", {"source": source, "nodes": WEB1, "away_s": 1})["run"]["id"]
    walk.until(f"/v1/plans/{run}", lambda view: view["run"]["ended_at"] is not None)
    walk.call("POST /v1/plans/{run}/retry", {}, run=run)
    walk.call("POST /v1/plans/{run}/run-task", {"task": "look", "node": "web1"}, run=run)


def walk_browser(walk: Walk) -> None:
    page = {"X-Precast-Web": "1"}
    walk.call("POST /v1/web/session", {"token": walk.server.admin}, token="", headers=page)
    context = https.trust_authority(walk.server.authority.read_text())
    body = json.dumps({"token": walk.server.admin}).encode()
    response = https.call(walk.server.url, context, "POST", "/v1/web/session", body, headers=page)
    cookie = response.headers["Set-Cookie"].partition(";")[0]
    walk.call("DELETE /v1/web/session", token="", headers={**page, "Cookie": cookie})


def walk_machines(walk: Walk) -> None:
    """Choose one of two machines, which have connected before."""
    walk.execute(
        "INSERT INTO session (node, epoch, instance, attempts, machine_id, machine, address, boot_id, agent, connected_at, lost, held_at)"
        """ VALUES ('web1', 1, 'i', '["a"]', '', '', '192.0.2.1', 'b', '1', 1, 0, 1)"""
    )
    for name in ("one", "two"):
        walk.execute(
            "INSERT INTO session_machine"
            " (node, machine, instance, attempts, machine_id, boot_id, address, agent, given, first_at, last_at)"
            f""" VALUES ('web1', '{name}', 'i', '["a"]', '', 'b', '192.0.2.1', '1', 0, 1, 1)"""
        )
    walk.call("POST /v1/nodes/{node}/machine", {"machine": "one", "why": "the right one"}, node="web1")


def walk_ends(walk: Walk) -> None:
    walk.call("POST /v1/certificates/{node}/revocation", {"why": "stolen"}, node="asked1")
    walk.call("POST /v1/certificates/{node}/cleaning", {"why": "made again"}, node="web1")
    walk_machines(walk)
    # The purge of an active node is two operations with an entry each: it is deactivated, and then deleted.
    walk.call("POST /v1/deactivations", {"nodes": WEB1})
    walk.call("POST /v1/purges", {"nodes": WEB1})


def walk_authority(walk: Walk) -> None:
    walk.call("POST /v1/authority/rotation", {"prepare_only": True})
    walk.call("POST /v1/authority/rotation", {}, audited="authority.rotate")
    walk.call("POST /v1/authority/retirement", {"is_forced": True})
