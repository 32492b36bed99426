"""Every route and every message of a session, with every kind of credentials, against the table that is kept by hand."""

import json
import sqlite3
import ssl
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path
from typing import NamedTuple, get_args
from unittest.mock import Mock

import msgspec
import pytest

from lab.session import Peer, Store
from precast.api.sessions.records import declare_messages
from precast.base import https
from precast.wire import sessions as session
from precast.wire.sessions import (
    Ack,
    FactsWanted,
    Hello,
    LossBody,
    Message,
    Reconnect,
    Record,
    Refused,
    Released,
    Resend,
    Subscribe,
    Values,
    Welcome,
)
from tests.e2e.precast_command import DEADLINE_S, assert_fine
from tests.e2e.precast_server import HttpResponse, Server, running
from tests.e2e.server.route_table import RECORDS, MessageRow, RouteRow, read_messages, read_routes

ROLES = ("viewer", "operator", "admin", "commands")
INCLUDED = {
    "viewer": {"viewer", "operator", "admin"},
    "operator": {"operator", "admin"},
    "admin": {"admin"},
    "commands": {"commands"},
    "viewer+": {"viewer", "operator", "admin", "commands"},
    "operator+": {"operator", "admin", "commands"},
}
# A token that is limited has this environment, and not the other.
OWN, OTHER = "alpha", "beta"
# The answer to a request: it was let in, it needs credentials, its credentials are invalid, or they do not suffice.
LET_IN, NOBODY, INVALID, DENIED = "let in", "nobody", "invalid", "denied"
BODY_PARAMETERS = {
    "{node}": "web1",
    "{digest}": "0" * 64,
    "{file}": "dashboard.js",
    "{number}": "1",
}


class Credentials(NamedTuple):
    """One kind of caller. `role` is of a person with a valid token; a limited one has the environment `OWN` only."""

    name: str
    headers: Mapping[str, str] = {}
    certificate: Path | None = None
    role: str = ""
    is_limited: bool = False
    is_valid_node: bool = False
    without: str = NOBODY  # the outcome where these credentials do not count


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server.init(tmp_path_factory.mktemp("site") / "data")
    made.more = ["--requests-per-second", "100000"]
    with running(made) as started:
        yield started


@pytest.fixture(scope="module")
def nodes(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Enrolled nodes; the certificate of one is revoked."""
    made = {}
    for name in ("web1", "web2", "stolen"):
        root = tmp_path_factory.mktemp(name)
        assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
        made[name] = root / "var/lib/precast/agent"
    assert_fine(server.command("ca", "revoke", "stolen"))
    return made


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def sign_in(server: Server, token: str) -> dict[str, str]:
    """The headers of a browser session."""
    connection = open_connection(server, None)
    body = json.dumps({"token": token}).encode()
    connection.request("POST", "/v1/web/session", body, {"X-Precast-Web": "1", "Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
    connection.close()
    assert response.status == 200
    return {"Cookie": cookie, "X-Precast-Web": "1"}


@pytest.fixture(scope="module")
def callers(server: Server, nodes: Mapping[str, Path]) -> list[Credentials]:
    expired, revoked = (server.read("token", "person", "late", "--role", "admin") for _ in range(2))
    with closing(sqlite3.connect(server.data / "precast.db", timeout=30)) as database, database:
        database.execute("UPDATE person_token SET expires_at = 1 WHERE id = ?", (expired["id"],))
    assert_fine(server.command("token", "revoke", revoked["id"]))
    tokens = {role: server.read("token", "person", role, "--role", role)["token"] for role in ROLES}
    words = ("--environment", OWN)
    limited = {role: server.read("token", "person", f"l-{role}", "--role", role, *words)["token"] for role in ROLES}
    enrolment = server.read("token", "enrol", "*")["token"]
    wrong = {
        "a word": "x",
        "no parts": "pcu1..",
        "a cut token": server.admin[:-1],
        "a longer token": server.admin + "A",
        "an expired token": expired["token"],
        "a revoked token": revoked["token"],
        "an enrolment token": enrolment,
        "a huge token": "p" * 5000,
    }
    browser = sign_in(server, tokens["admin"])
    return [
        Credentials("nothing"),
        *(
            Credentials(repr(header), {"Authorization": header})
            for header in ("", "Bearer", "Basic YTpi", server.admin)
        ),
        *(Credentials(name, bearer(token), without=INVALID) for name, token in wrong.items()),
        *(Credentials(role, bearer(token), role=role) for role, token in tokens.items()),
        *(Credentials(f"limited {role}", bearer(token), role=role, is_limited=True) for role, token in limited.items()),
        Credentials("a browser session", browser, role="viewer"),
        Credentials("a browser session of another site's page", {"Cookie": browser["Cookie"]}),
        Credentials("a node", certificate=nodes["web1"], is_valid_node=True),
        Credentials("another node", certificate=nodes["web2"], is_valid_node=True),
        Credentials("a revoked node", certificate=nodes["stolen"]),
        Credentials("a node with a person's token", bearer(tokens["viewer"]), nodes["web1"], "viewer", False, True),
    ]


def open_connection(server: Server, node: Path | None) -> HTTPSConnection:
    context = https.trust_authority(server.authority.read_text())
    if node is not None:
        context.load_cert_chain(node / "certificate.pem", node / "key.pem")
    return HTTPSConnection("127.0.0.1", server.port, context=context, timeout=DEADLINE_S)


def ask(connection: HTTPSConnection, row: RouteRow, caller: Credentials, environment: str) -> HttpResponse:
    path = row.path.replace("{environment}", environment)
    for parameter, value in BODY_PARAMETERS.items():
        path = path.replace(parameter, value)
    for parameter in ("{id}", "{run}", "{report}", "{request}"):
        path = path.replace(parameter, "x")
    # There is no body: a caller that is let in gets an answer, or an error about the body.
    connection.request(row.method, path, headers=dict(caller.headers))
    response = connection.getresponse()
    data = response.read()
    kind = (response.getheader("Content-Type") or "").partition(";")[0]
    return HttpResponse(response.status, kind, json.loads(data) if kind.endswith("json") else "")


def outcome(response: HttpResponse) -> str:
    code = response.body["code"] if response.kind == "application/problem+json" else ""
    if response.status == 401:
        return {"API-001": NOBODY, "API-002": INVALID}[code]
    if code == "API-003":
        assert response.status == 403
        return DENIED
    assert response.status in (200, 400, 403, 404, 409), response
    return LET_IN


def expected(row: RouteRow, caller: Credentials, environment: str) -> str:
    if row.who == "public":
        return LET_IN
    if row.who == "node":
        if caller.is_valid_node:
            return LET_IN
        return INVALID if caller.certificate is not None else NOBODY
    if not caller.role:
        return caller.without
    is_open = row.limited == "own" or (row.limited == "named" and environment == OWN)
    return LET_IN if caller.role in INCLUDED[row.who] and (not caller.is_limited or is_open) else DENIED


def test_table_has_every_route_of_the_server_and_no_other(server: Server) -> None:
    document = server.ask("GET", "/v1/openapi.json").body
    served = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert served == {row.name for row in read_routes()}


def test_every_route_lets_in_whom_the_table_names_and_nobody_else(server: Server, callers: list[Credentials]) -> None:
    counts: Counter[str] = Counter()
    differences = []
    for caller in callers:
        connection = open_connection(server, caller.certificate)
        for row in read_routes():
            if row.name == "DELETE /v1/web/session" and "Cookie" in caller.headers:
                continue  # it would end the session that is used here
            for environment in (OWN, OTHER) if "{environment}" in row.path else (OTHER,):
                response = ask(connection, row, caller, environment)
                found, wanted = _outcome_of_public(row, response), expected(row, caller, environment)
                counts[found] += 1
                if found != wanted:
                    differences.append(f"{row.name} ({environment}) with {caller.name}: {found} instead of {wanted}")
        connection.close()
    print(f"{len(read_routes())} routes, {len(callers)} kinds of credentials: {dict(counts)}")
    assert not differences, "\n".join(differences)
    # None of these requests had an effect: the nodes' certificates are still valid.
    rows = {row["node"]: row["revoked_at"] for row in server.read("ca", "list")}
    assert (rows["web1"], rows["web2"]) == (None, None)
    assert "Traceback" not in server.log


def _outcome_of_public(row: RouteRow, response: HttpResponse) -> str:
    """A public route that checks a signature or a token of its own answers 401 itself; that is not about the caller."""
    is_own_check = row.who == "public" and response.status in (400, 401, 403)
    return LET_IN if is_own_check else outcome(response)


def test_limited_token_sees_nothing_of_other_environments(server: Server, callers: list[Credentials]) -> None:
    """The rows `own` let a limited token in; the lists that they show must not contain anything else."""
    for environment in (OWN, OTHER):
        tree = server.data.parent / environment
        (tree / "manifests").mkdir(parents=True)
        (tree / "manifests/site.pp").write_text(f"notify {{ {environment}: }}\n")
        assert_fine(server.command("env", "deploy", environment, "--from", tree))
    limited = next(caller for caller in callers if caller.name == "limited viewer")
    connection = open_connection(server, None)
    for row in read_routes():
        if row.limited == "own" and row.method == "GET":
            response = ask(connection, row, limited, OTHER)
            assert OTHER not in json.dumps(response.body), row
    connection.close()


# messages


def _messages() -> dict[str, Message]:
    """One valid example of every message of the protocol."""
    now = datetime.now(UTC)
    store = Store()
    store.attempts = ["again"]
    body = msgspec.Raw(msgspec.json.encode(LossBody("facts", 1, now, now)))
    examples: list[Message] = [
        store.hello(),
        Record(1, session.LOSS, now, body),
        Ack(0),
        Resend(0),
        Welcome(1, 1, "x", 0, 30.0, 60.0, 60.0),
        Refused("X-001", "x"),
        FactsWanted("0" * 64),
        Reconnect("x"),
        Released(),
        Subscribe(""),
        Values("", []),
    ]
    return {msgspec.json.decode(session.encode(message))["type"]: message for message in examples}


def test_table_has_every_message_of_the_protocol_and_every_kind_of_record() -> None:
    declared = {*get_args(session.FromNode), *get_args(session.FromServer)}
    assert {type(message) for message in _messages().values()} == declared
    assert {row.message for row in read_messages()} == set(_messages())
    assert {type(_messages()[row.message]) for row in read_messages() if row.later != "closed"} <= declared - {Hello}
    assert set(declare_messages(Mock(), Mock(), Mock(), Mock(), Mock()).kinds) == RECORDS


@pytest.mark.parametrize("row", read_messages(), ids=lambda row: row.message)
async def test_message_of_a_node_is_handled_as_the_table_says(
    server: Server, nodes: Mapping[str, Path], row: MessageRow
) -> None:
    message = _messages()[row.message]
    async with Peer(server.url, _node_context(server, nodes["web2"]), Store()) as peer:
        await peer.send_message(message)
        if row.first == "welcomed":
            await peer.expect(Welcome)
        else:
            assert await peer.closed() == session.CLOSE_PROTOCOL
    async with Peer(server.url, _node_context(server, nodes["web2"]), Store()) as peer:
        await peer.greet()
        await peer.send_message(message)
        if row.later == "closed":
            assert await peer.closed() == session.CLOSE_PROTOCOL
        else:
            peer.store.last = 1 if row.message == "record" else 0
            now = datetime.now(UTC)
            await peer.acknowledged(await peer.send(session.LOSS, LossBody("facts", 1, now, now)))


def _node_context(server: Server, node: Path) -> ssl.SSLContext:
    context = https.trust_authority(server.authority.read_text())
    context.load_cert_chain(node / "certificate.pem", node / "key.pem")
    return context
