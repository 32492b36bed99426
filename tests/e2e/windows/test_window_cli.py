"""`precast window` with a real server: windows are created, imported, bound, explained and removed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.precast_command import assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast, running

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:1
DTSTART;TZID=Europe/Berlin:20260103T220000
DTEND;TZID=Europe/Berlin:20260104T040000
RRULE:FREQ=WEEKLY;BYDAY=SA
END:VEVENT
END:VCALENDAR
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("site") / "data")) as made:
        for name in ("db1.test", "web1.test", "web2.test"):
            token = made.read("token", "enrol", name)["token"]
            assert_fine(made.enrol(made.data / "nodes" / name, name, token))
        yield made


def test_window_from_creation_to_removal(server: Server, tmp_path: Path) -> None:
    ran = server.command(
        "window", "create", "nights", "--rule", "daily 2:00 60m", "--rule", "sat 22:00 6h Europe/Berlin"
    )
    assert_fine(ran)
    assert ran.out.startswith("nights: open next from 20")
    ran = server.command("window", "bind", "nights", "--target", "web*", "--class", "run-enforce", "--class", "reboot")
    assert (ran.code, ran.out) == (0, "nights: bound to web* (2 nodes now) for reboot, run-enforce\n")
    file = tmp_path / "weekend.ics"
    file.write_text(CALENDAR)
    assert_fine(server.command("window", "import", str(file), "--name", "weekend", "--zone", "Europe/Berlin"))
    assert_fine(
        server.command("window", "create", "freeze", "--rule", "Mon 00:00 7d", "--blackout", "--why", "year's end")
    )
    assert_fine(server.command("window", "bind", "weekend", "--target", "db1.test", "--at-close", "abort"))

    ran = server.command("window", "list")
    assert_fine(ran)
    assert [line.split()[:2] for line in ran.out.splitlines()[1:]] == [
        ["freeze", "rules,"],
        ["nights", "rules"],
        ["weekend", "calendar"],
    ]
    view = server.read("window", "show", "nights")
    assert view["source"] == "daily 02:00 1h\nSat 22:00 6h Europe/Berlin"
    assert [made["binding"]["target"] for made in view["bindings"]] == ["web*"]
    assert len(view["intervals"]) == 10
    ran = server.command("window", "show", "nights")
    assert_fine(ran)
    assert "rule     daily 02:00 1h" in ran.out
    assert server.command("window", "show", "weekend", "--source").out == CALENDAR

    (opening,) = server.read("window", "next", "--node", "web1.test", "--class", "reboot")
    assert (opening["windows"], opening["blackouts"], opening["at_close"]) == (["nights"], [], "finish")
    assert opening["opens_at"] < opening["closes_at"]
    ran = server.command("window", "next", "--node", "db1.test")
    assert_fine(ran)
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == [
        *("run-enforce", "run-noop", "command", "release", "reboot", "restart", "facts"),
    ]
    assert all("windows weekend" in line for line in ran.out.splitlines()[1:])
    assert "no window is bound" in server.command("window", "next", "--node", "web1.test", "--class", "facts").out
    # A blackout of every day leaves nothing open.
    assert_fine(server.command("window", "bind", "freeze", "--target", "db1.test", "--class", "command"))
    assert "not within a year" in server.command("window", "next", "--node", "db1.test", "--class", "command").out
    assert len(server.read("window", "next")) == 3

    assert_refused(server.command("window", "remove", "nights"), 73, "WINDOW-003")
    assert_refused(server.command("window", "unbind", "nights", "--target", "web1.test"), 66, "WINDOW-006")
    ran = server.command("window", "unbind", "nights", "--target", "web*", "--why", "no longer needed")
    assert (ran.code, ran.out) == (0, "nights: no longer bound to web*\n")
    assert server.command("window", "remove", "nights").out == "nights: removed\n"
    assert_refused(server.command("window", "show", "nights"), 66, "WINDOW-002")
    entries = [(row["action"], row["target"]) for row in server.read("audit") if row["action"].startswith("window.")]
    assert entries[:3] == [("window.remove", "nights"), ("window.unbind", "nights"), ("window.bind", "freeze")]


def test_binding_by_facts_is_noted_because_nodes_report_them(server: Server) -> None:
    assert_fine(server.command("window", "create", "debian", "--rule", "daily 02:00 1h"))
    ran = server.command("window", "bind", "debian", "--target", "facts.os.family = 'Debian'")
    assert (ran.code, ran.out) == (0, "debian: bound to facts.os.family = 'Debian' (0 nodes now) for all\n")
    assert "depends on facts" in ran.err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hello", "WINDOW-004"),
        (CALENDAR.replace("WEEKLY;BYDAY=SA", "SECONDLY"), "WINDOW-004"),
        (CALENDAR.replace("Europe/Berlin", "Mars/Base"), "CRON-002"),
        ("X:" + "a" * 210_000, "WINDOW-004"),
        ("X:" + "a" * 50_000_000, "API-"),
    ],
)
def test_hostile_file_is_refused(server: Server, tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "hostile.ics"
    file.write_text(text)
    ran = server.command("window", "import", str(file), "--name", "hostile")
    assert ran.code != 0
    assert code in ran.err
    assert_refused(server.command("window", "show", "hostile"), 66, "WINDOW-002")


def test_viewer_reads_windows_and_changes_none(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "person", "vera", "--role", "viewer")["token"]
    rules = json.dumps({"rules": ["daily 02:00 1h"]}).encode()
    assert server.ask("GET", "/v1/windows", token).status == 200
    assert server.ask("POST", "/v1/windows/mine", token, rules).status == 403


def test_command_line_errors_name_the_next_step(server: Server) -> None:
    ran = server.command("window", "create", "nights", "--rule", "every night")
    assert_refused(ran, 64, "POLICY-001")
    assert precast("window", "create", "nights").code == 64
