"""`precast audit verify`, `heads` and `export` against a real server, and a database that somebody has changed behind its back."""

import json
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.precast_command import DEADLINE_S, PRECAST, assert_fine, assert_refused, environment
from tests.e2e.precast_server import Server, precast, running

SYSLOG = re.compile(
    r"<109>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ precast \S+ (?P<action>\S+) "
    r'\[precast@32473 id="[^"]+" actor="(?P<actor>[^"]+)" target="[^"]*" chain="[^"]+" sequence="\d+" previous="[0-9a-f]*"'
    r' hash="[0-9a-f]{64}"\] \{.*\}'
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("audit") / "data")) as server:
        yield server


def act(server: Server, count: int) -> None:
    for number in range(count):
        assert_fine(server.command("token", "enrol", f"web{number}"))


def change(server: Server, *statements: str) -> None:
    """Change the database file as somebody with access to it does, who first removes the triggers."""
    with sqlite3.connect(server.data / "precast.db", timeout=DEADLINE_S) as database:
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'audit%' AND name <> 'audit_moves_head'"
        ):
            database.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            database.execute(statement)
    database.close()


def test_log_is_exported_once_in_each_form_and_continued_from_a_position(server: Server, tmp_path: Path) -> None:
    act(server, 3)
    position, output = tmp_path / "position", tmp_path / "audit.json"
    words = ("audit", "export", "--position", position, "--output", output)
    assert_fine(server.command(*words))
    first = [json.loads(line) for line in output.read_text().splitlines()]
    assert [entry["sequence"] for entry in first] == list(range(1, len(first) + 1))
    assert {entry["action"] for entry in first} == {"token.create"}
    assert first[-1]["detail"]["pattern"] == "web2"
    assert (output.stat().st_mode & 0o777, position.stat().st_mode & 0o777) == (0o600, 0o600)
    assert_fine(server.command(*words))
    assert len(output.read_text().splitlines()) == len(first)  # nothing is new
    act(server, 2)
    assert_fine(server.command(*words))
    again = [json.loads(line) for line in output.read_text().splitlines()]
    assert again[: len(first)] == first
    assert [entry["detail"]["pattern"] for entry in again[len(first) :]] == ["web0", "web1"]
    after = server.command("audit", "export", "--after", again[-2]["id"])
    assert [json.loads(line)["id"] for line in after.out.splitlines()] == [again[-1]["id"]]
    lines = server.command("audit", "export", "--format", "syslog").out.splitlines()
    matches = [SYSLOG.fullmatch(line) for line in lines]
    assert [match["action"] for match in matches if match] == [entry["action"] for entry in again]
    assert server.admin.rpartition(".")[2] not in output.read_text()
    assert_refused(server.command("audit", "export", "--after", "nothing"), 66, "CLI-029")
    position.write_text("[]")
    assert_refused(server.command(*words), 64, "CLI-024")


def test_export_follows_the_log_until_it_is_interrupted(server: Server) -> None:
    words = [PRECAST, "audit", "export", "--follow"]
    with subprocess.Popen(
        words, env=environment({**server.env, "PYTHONUNBUFFERED": "1"}), stdout=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        for _ in range(len(server.command("audit", "export").out.splitlines())):
            follower.stdout.readline()
        act(server, 1)
        assert json.loads(follower.stdout.readline())["detail"]["pattern"] == "web0"
        follower.send_signal(signal.SIGINT)
        follower.wait(DEADLINE_S)


def test_log_is_checked_also_against_exported_heads(server: Server, tmp_path: Path) -> None:
    act(server, 4)
    verified = server.command("audit", "verify")
    assert_fine(verified)
    assert re.fullmatch(r"\d+ entries in \d+ chains? are intact\n", verified.out)
    heads = tmp_path / "heads"
    heads.write_text(server.command("audit", "heads").out)
    act(server, 1)
    with heads.open("a") as file:  # as a timer that appends
        file.write(server.command("audit", "heads").out)
    assert_fine(server.command("audit", "verify", "--heads", heads))
    entries = [json.loads(line) for line in server.command("audit", "export").out.splitlines()]
    victim, last = entries[-3], entries[-1]
    # The end is removed together with its head: only the exported heads show it.
    change(
        server,
        f"DELETE FROM audit WHERE id = '{last['id']}'",
        f"UPDATE audit_chain SET sequence = sequence - 1, hash = '{last['previous']}'",
    )
    assert_fine(server.command("audit", "verify"))
    assert_refused(
        server.command("audit", "verify", "--heads", heads), 73, "CLI-022", f"entry {last['sequence']} was exported"
    )
    # One entry names another person.
    change(server, f"UPDATE audit SET actor = 'person:bob' WHERE id = '{victim['id']}'")
    told = server.command("audit", "verify")
    assert_refused(told, 73, "CLI-022", "it was changed")
    assert f"entry {victim['sequence']} ({victim['id']}, " in told.err
    assert "person:bob)" in told.err
    for text in ("no head\n", ""):
        heads.write_text(text)
        assert_refused(server.command("audit", "verify", "--heads", heads), 64, "CLI-023")
    assert_refused(server.command("audit", "verify", "--heads", tmp_path / "missing"), 66, "CLI-010")


def test_log_is_for_admins_of_the_whole_site(server: Server) -> None:
    viewer = server.read("token", "person", "vic", "--role", "operator")["token"]
    scoped = server.read("token", "person", "sue", "--role", "admin", "--environment", "test")["token"]
    for token in (viewer, scoped):
        for words in (["audit"], ["audit", "verify"], ["audit", "heads"], ["audit", "export"]):
            assert_refused(precast(*words, env={**server.env, "PRECAST_TOKEN": token}), 77, "API-003")
    assert server.ask("GET", "/v1/audit/chain?chain=x&after=x", server.admin).status == 400
    assert server.ask("GET", f"/v1/audit/chain?chain=x&after={'9' * 30}", server.admin).status == 400
    assert server.ask("GET", "/v1/audit/chain?chain=x", server.admin).body["entries"] == []
