"""The real server over real TLS: authorisation, refused requests and commands, and what survives a crash."""

import gzip
import json
import shutil
import signal
import socket
import sqlite3
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from precast.api.http.quotas import MAX_BODY_BYTES
from tests.e2e.precast_command import ORDINARY, assert_fine, assert_refused, names_in
from tests.e2e.precast_server import HttpResponse, Server, mode_of, precast, running, tls_error


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that change only nodes and tokens of their own."""
    with running(Server.init(tmp_path_factory.mktemp("site") / "data")) as started:
        yield started


def person(server: Server, role: str) -> str:
    return str(server.read("token", "person", "someone", "--role", role)["token"])


def enrol_node(server: Server, root: Path, name: str) -> Path:
    """Enrol a node; returns the directory of its key and certificate."""
    assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
    return root / "var/lib/precast/agent"


def assert_problem(response: HttpResponse, status: int, *codes: str) -> None:
    assert (response.status, response.kind) == (status, "application/problem+json"), response
    assert response.body["code"] in codes, response
    assert response.body["status"] == status
    assert response.body["hint"]


# paths


def test_unknown_path_or_method_is_a_problem(server: Server) -> None:
    for method, path in (
        ("GET", "/v1"),
        ("GET", "/v1/nothing"),
        ("GET", "/web/../server.py"),
        ("GET", "/web/nothing.js"),
        ("GET", "/v1/../v1/nodes/x"),
        ("POST", "/v1/certificates/a/b/revocation"),
    ):
        assert_problem(server.ask(method, path, server.admin), 404, "API-006")
    for method, path in (("PUT", "/v1/nodes"), ("GET", "/v1/enrolments")):
        assert_problem(server.ask(method, path, server.admin), 405, "API-012")


@pytest.mark.parametrize("name", ["..", "a%2Fb", "%00", "%ff", "%2e%2e%2f", "*", "nobody"])
def test_path_with_a_strange_name_is_not_found(server: Server, name: str) -> None:
    response = server.ask("POST", f"/v1/certificates/{name}/revocation", server.admin, b"{}")
    assert_problem(response, 404, "NODE-001", "API-006")
    assert_problem(server.ask("DELETE", f"/v1/tokens/{name}", server.admin), 404, "AUTH-003", "API-006")


def test_query_with_a_control_character_is_not_found(server: Server) -> None:
    assert_problem(server.ask("GET", "/v1/nodes?after=%00", server.admin), 404, "API-006")


# bodies


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"pattern": 5}',
        b'{"pattern": "\xff"}',
        b'{"pattern": "\\ud800"}',
        b'{"pattern": "x", "uses": "1"}',
        b'{"pattern": "x", "extensions": {"pp_role": 1}}',
        b'{"pattern": "x", "other": ' + b"[" * 100_000 + b"}",
    ],
    ids=lambda body: repr(body[:40]),
)
def test_invalid_body_is_refused(server: Server, body: bytes) -> None:
    assert_problem(server.ask("POST", "/v1/tokens/enrolment", server.admin, body), 400, "API-004")


def test_body_beyond_the_limit_is_refused_and_not_decompressed(server: Server) -> None:
    large = b'{"token": "' + b"x" * MAX_BODY_BYTES + b'"}'
    assert_problem(server.ask("POST", "/v1/enrolments", None, large), 400, "API-005")
    compressed = gzip.compress(large)
    response = server.ask("POST", "/v1/enrolments", None, compressed, headers={"Content-Encoding": "gzip"})
    assert_problem(response, 400, "API-004")


def test_body_with_a_wrong_encoding_is_refused(server: Server) -> None:
    response = server.ask("POST", "/v1/enrolments", None, b"no gzip", headers={"Content-Encoding": "gzip"})
    assert_problem(response, 400, "API-004")


def test_enrolment_with_an_invalid_certificate_request_is_refused(server: Server) -> None:
    token = server.read("token", "enrol", "*")["token"]
    for request in ("", "x", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"):
        body = json.dumps({"request": request, "token": token}).encode()
        assert_problem(server.ask("POST", "/v1/enrolments", None, body), 400, "CA-004")


# TLS


def test_tls_before_1_3_is_refused(server: Server) -> None:
    context = ssl.create_default_context(cafile=str(server.authority))
    assert tls_error(server, context) == ""
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert tls_error(server, context) != ""


def test_certificate_of_another_authority_is_refused(server: Server, tmp_path: Path) -> None:
    other = Server.init(tmp_path / "other")
    assert "VERIFY" in tls_error(server, ssl.create_default_context(cafile=str(other.authority)))
    ran = precast("node", "list", env={**server.env, "PRECAST_CA": str(other.authority)})
    assert_refused(ran, 77, "HTTP-003")


# commands


def test_node_enrols_renews_and_is_revoked_by_the_commands(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "enrol", "web*", "--extension", "pp_role=web")["token"]
    assert_fine(server.enrol(tmp_path, "web1", token))
    state = tmp_path / "var/lib/precast/agent"
    assert names_in(state) == ["authority.pem", "certificate.pem", "key.pem", "life"]
    assert mode_of(state) == 0o700
    assert {mode_of(path) for path in state.iterdir()} == {0o600}
    assert_refused(server.enrol(tmp_path, "web1", token), 73, "AGENT-001")
    before = (state / "key.pem").read_bytes()
    assert_fine(precast("agent", "renew", "--url", server.url, "--root", tmp_path))
    assert (state / "key.pem").read_bytes() != before
    assert names_in(state) == ["authority.pem", "certificate.pem", "key.pem", "life"]
    rows = [row for row in server.read("ca", "list") if row["node"] == "web1"]
    assert [row["extensions"] for row in rows] == [{"pp_role": "web"}] * 2
    assert_refused(server.enrol(tmp_path / "b", "web1", server.read("token", "enrol", "web1")["token"]), 73, "CA-005")
    assert_fine(server.command("ca", "revoke", "web1", "--why", "stolen"))
    assert_refused(precast("agent", "renew", "--url", server.url, "--root", tmp_path), 77, "CA-007")
    assert_refused(server.command("ca", "revoke", "web1"), 66, "NODE-001")
    entries = [(row["actor"], row["action"]) for row in server.read("audit") if row["target"] == "web1"]
    assert entries == [
        ("person:admin", "certificate.revoke"),
        ("node:web1", "certificate.renew"),
        ("node:web1", "certificate.enrol"),
    ]


def test_renewal_interrupted_before_the_key_is_renamed_continues_with_the_new_key(
    server: Server, tmp_path: Path
) -> None:
    state = enrol_node(server, tmp_path, "cut")
    # The state after a crash that followed the write of the certificate.
    (state / "key.pem").rename(state / "next-key.pem")
    (state / "key.pem").write_bytes((server.data / "authority" / "key.pem").read_bytes())
    assert_fine(precast("agent", "renew", "--url", server.url, "--root", tmp_path))
    assert names_in(state) == ["authority.pem", "certificate.pem", "key.pem", "life"]


def test_cleaned_name_can_be_enrolled_again(server: Server, tmp_path: Path) -> None:
    enrol_node(server, tmp_path / "a", "again")
    assert_fine(server.command("ca", "clean", "again"))
    enrol_node(server, tmp_path / "b", "again")
    assert [row["revoked_why"] for row in server.read("ca", "list") if row["node"] == "again"] == ["cleaned", None]


def test_enrolment_with_a_wrong_token_is_refused(server: Server, tmp_path: Path) -> None:
    token = str(server.read("token", "enrol", "web9")["token"])
    assert_refused(server.enrol(tmp_path, "db9", token), 77, "CA-006", "this token does not enrol db9")
    assert_refused(server.enrol(tmp_path, "web9", token[:-5]), 64, "WIRE-002")
    assert_refused(server.enrol(tmp_path, "web9", server.admin), 64, "WIRE-002")
    assert_refused(server.enrol(tmp_path, "Web 9", token), 64, "WIRE-001")
    # The next attempt uses the key of the failed ones.
    assert_fine(server.enrol(tmp_path, "web9", token))


def enrolments(server: Server) -> list[str]:
    """The server's metrics of enrolment requests."""
    metrics = server.ask("GET", "/metrics", server.admin).body
    return [line for line in metrics.splitlines() if 'total{route="/v1/enrolments"' in line]


def test_enrolment_at_another_authority_sends_nothing(server: Server, tmp_path: Path) -> None:
    with running(Server.init(tmp_path / "other")) as other:
        token = other.read("token", "enrol", "*")["token"]
        before = enrolments(server)
        assert_refused(server.enrol(tmp_path / "node", "web7", token), 77, "AGENT-002")
        assert enrolments(server) == before
        # The right server accepts the same token and key, and counts the requests.
        assert_fine(other.enrol(tmp_path / "node", "web7", token))
        assert len(enrolments(other)) == 2


def test_unreachable_server_is_reported_in_one_line(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "enrol", "*")["token"]
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{bound.getsockname()[1]}"
        assert_refused(precast("node", "list", env={**server.env, "PRECAST_URL": url}), 75, "HTTP-002")
        ran = precast("agent", "enrol", "--url", url, "--token", token, "--name", "a", "--root", tmp_path)
        assert_refused(ran, 75, "HTTP-002")


@pytest.mark.parametrize("url", ["http://localhost", "localhost", "https://", "https://a:b@localhost", "https://h:x"])
def test_invalid_url_is_refused(server: Server, url: str) -> None:
    assert_refused(precast("node", "list", env={**server.env, "PRECAST_URL": url}), 64, "HTTP-001")


def test_unwritable_state_directory_is_reported_before_any_request(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "enrol", "ro")["token"]
    (tmp_path / "var").mkdir(mode=0o500)
    words = ["agent", "enrol", "--url", server.url, "--token", token, "--name", "ro", "--root", str(tmp_path)]
    assert_refused(precast(*words, prefix=ORDINARY), 75, "AGENT-004")
    (tmp_path / "var").chmod(0o700)
    assert_fine(precast(*words))


def test_person_with_a_wrong_token_is_refused(server: Server) -> None:
    assert_refused(precast("node", "list", env={**server.env, "PRECAST_TOKEN": "x"}), 64, "WIRE-002")
    other = server.admin.split(".")
    other[2] = "A" * 43
    assert_refused(precast("node", "list", env={**server.env, "PRECAST_TOKEN": ".".join(other)}), 77, "API-002")
    viewer = person(server, "viewer")
    assert_fine(precast("node", "list", env={**server.env, "PRECAST_TOKEN": viewer}))
    assert_refused(precast("token", "list", env={**server.env, "PRECAST_TOKEN": viewer}), 77, "API-003")


def test_client_file_that_others_may_read_is_refused(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "precast" / "client.toml"
    file.parent.mkdir()
    file.write_text(f'url = "{server.url}"\nca = "{server.authority}"\ntoken = "{server.admin}"\n')
    file.chmod(0o640)
    assert_refused(precast("node", "list", env={"XDG_CONFIG_HOME": str(tmp_path)}), 77, "CONFIG-002")
    file.chmod(0o600)
    assert_fine(precast("node", "list", env={"XDG_CONFIG_HOME": str(tmp_path)}))


# the process


def test_init_creates_private_files_and_only_once(tmp_path: Path) -> None:
    site = Server.init(tmp_path / "data")
    with running(site):
        assert mode_of(site.data) == 0o700
        for path in site.data.rglob("*"):
            if path.name != "log":
                assert mode_of(path) == (0o700 if path.is_dir() else 0o600), path
    before = site.authority.read_bytes()
    assert_refused(precast("server", "init", "--data", site.data), 73, "CA-002")
    assert site.authority.read_bytes() == before


def test_lost_admin_token_is_replaced_on_the_server_itself(server: Server, tmp_path: Path) -> None:
    ran = precast("server", "admin", "--data", server.data, "--admin", "bob")
    assert_fine(ran)
    assert_fine(precast("token", "list", env={**server.env, "PRECAST_TOKEN": ran.out.strip()}))
    assert_refused(precast("server", "admin", "--data", tmp_path), 66, "STORE-002")


def test_missing_file_of_the_authority_is_reported_by_server_and_init(tmp_path: Path) -> None:
    site = Server.init(tmp_path / "data")
    site.authority.unlink()
    assert_refused(precast("server", "--data", site.data, "--listen", "127.0.0.1:0"), 75, "CA-014", "is missing")
    assert_refused(precast("server", "init", "--data", site.data), 73, "CA-002")


def test_init_that_was_killed_can_be_repeated(tmp_path: Path) -> None:
    """The state after a crash: the directory has its temporary name, and the database already has a token."""
    site = Server.init(tmp_path / "data")
    (site.data / "authority").rename(site.data / ".precast-cut-off")
    with closing(sqlite3.connect(site.data / "precast.db")) as database:
        database.execute("DELETE FROM authority")  # written after the directory has its name
        database.commit()
    again = Server.init(site.data)
    with running(again):
        assert_fine(again.command("node", "list"))


def test_init_with_an_unavailable_database_can_be_repeated(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ran = precast("server", "init", "--data", data, "--database", tmp_path / "nowhere" / "precast.db")
    assert ran.code != 0
    Server.init(data)


def test_server_without_an_authority_does_not_start(tmp_path: Path) -> None:
    assert_refused(precast("server", "--data", tmp_path, "--listen", "127.0.0.1:0"), 66, "CA-001")


def test_server_on_a_port_in_use_does_not_start(server: Server) -> None:
    listen = f"127.0.0.1:{server.port}"
    assert_refused(precast("server", "--data", server.data, "--listen", listen), 75, "CLI-026")


def test_stopped_server_ends_with_success_and_an_empty_log(tmp_path: Path) -> None:
    site = Server.init(tmp_path / "data")
    for number in (signal.SIGTERM, signal.SIGINT):
        with running(site):
            assert site.ask("GET", "/health/ready").body == {"status": "ready"}
            assert site.stop(number) == 0
    assert site.log == ""


def test_killed_server_loses_no_certificate_it_issued(tmp_path: Path) -> None:
    site = Server.init(tmp_path / "data")
    issued = []
    for number in range(3):
        with running(site):
            enrol_node(site, tmp_path / f"node{number}", f"node{number}")
            issued.append(f"node{number}")
            assert site.stop(signal.SIGKILL) == -signal.SIGKILL
    with running(site):
        assert [row["node"] for row in site.read("ca", "list")] == issued


def test_two_servers_on_one_postgresql_answer_alike(postgres: PostgresServer, tmp_path: Path) -> None:
    database = postgres.url(postgres.create_database())
    first = Server.init(tmp_path / "first", database)
    second = Server(tmp_path / "second", first.admin, database)
    second.data.mkdir()
    (first.data / "authority").rename(second.data / "authority")
    (first.data / "authority").mkdir()
    for path in (second.data / "authority").iterdir():
        (first.data / "authority" / path.name).write_bytes(path.read_bytes())
    shutil.copy2(first.data / "secrets.key", second.data)
    with running(first), running(second):
        enrol_node(first, tmp_path / "a", "web1")
        token = second.read("token", "enrol", "web1")["token"]
        assert_refused(second.enrol(tmp_path / "b", "web1", token), 73, "CA-005")
        assert_fine(second.command("ca", "clean", "web1"))
        assert_fine(first.enrol(tmp_path / "b", "web1", token))
        for words in (["ca", "list"], ["node", "list"], ["token", "list"], ["audit"]):
            assert first.read(*words) == second.read(*words)


def test_log_of_the_server_contains_no_secret(server: Server) -> None:
    secret = server.admin.split(".")[2]
    server.ask("GET", "/v1/nodes", server.admin + "x")
    assert secret not in server.log
    assert "Traceback" not in server.log
