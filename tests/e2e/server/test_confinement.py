"""A server confines what handles untrusted code, or does not start; and it starts and compiles within its shipped unit."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import unit_restrictions
from tests.e2e.precast_command import DEADLINE_S, PRECAST, assert_refused, environment
from tests.e2e.precast_server import precast

UNIT = Path(__file__).resolve().parents[3] / "packaging/systemd/precast-server.service"


def lacking(what: str) -> list[str]:
    return [sys.executable, "-m", "lab.old_kernel", what]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    ran = precast("server", "init", "--data", tmp_path / "data")
    assert ran.code == 0, ran
    return tmp_path / "data"


def first_line(data: Path, prefix: list[str], *words: str) -> tuple[str, str]:
    """Start a server, wait for its first line of output and end it. Returns the line and what it wrote to standard error."""
    log = data.parent / "log"
    with log.open("wb") as errors:
        command = [*prefix, PRECAST, "server", "--data", str(data), "--listen", "127.0.0.1:0", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment(), text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.terminate()
            process.wait(DEADLINE_S)
    return line, log.read_text()


@pytest.mark.parametrize(
    ("missing", "named"),
    [("landlock", "files: Landlock is not available"), ("seccomp", "system calls: seccomp is not")],
)
def test_server_that_cannot_confine_untrusted_code_does_not_start(data: Path, missing: str, named: str) -> None:
    ran = precast("server", "--data", data, "--listen", "127.0.0.1:0", prefix=lacking(missing))
    assert_refused(ran, 75, "CONFINE-001")
    assert named in ran.err
    assert 'the setting confinement = "best"' in ran.err


def test_server_starts_with_less_only_where_its_settings_accept_it(data: Path) -> None:
    line, log = first_line(data, lacking("landlock"), "--confinement", "best")
    assert line.startswith("serving on ")
    assert "not confined: files: Landlock is not available" in log


def test_kernel_without_namespaces_is_enough(data: Path) -> None:
    line, log = first_line(data, lacking("namespaces"))
    assert line.startswith("serving on ")
    assert log == ""


def test_check_shows_each_measure_of_each_process_and_how_it_is_enforced() -> None:
    ran = precast("server", "check", "--json", prefix=lacking("namespaces"))
    assert (ran.code, ran.err) == (0, "")
    shown = {
        (process["name"], measure["name"]): (measure["is_enforced"], measure["how"])
        for process in json.loads(ran.out)["processes"]
        for measure in process["measures"]
    }
    for name in ("compile worker", "check of code"):
        assert shown[name, "namespaces"] == (False, "the kernel refuses them: Operation not permitted")
        assert shown[name, "network"] == (True, "no sockets")
        assert shown[name, "files"][1].startswith("Landlock, ABI ")
        assert shown[name, "system calls"] == (True, "seccomp: all but a list are refused")
        assert "1024 MB of memory" in shown[name, "limits"][1]


def test_check_fails_where_a_process_cannot_be_confined() -> None:
    ran = precast("server", "check", prefix=lacking("landlock"))
    assert ran.code == 1
    assert re.search("^compile worker +everything +no +this system cannot confine", ran.out, re.MULTILINE)


def test_check_shows_how_the_connection_to_the_database_is_protected(tmp_path: Path) -> None:
    def shown(database: str) -> dict[str, object]:
        ran = precast("server", "check", "--json", "--data", tmp_path, "--database", database)
        found: dict[str, object] = json.loads(ran.out)["database"]
        return found

    file, verified, weak = map(shown, ("precast.db", "postgresql://db/x", "postgresql://db/x?sslmode=require"))
    assert (file["is_enforced"], file["how"]) == (True, "a file on this machine")
    assert (verified["is_enforced"], verified["how"]) == (
        True,
        "TLS, and the server's certificate and name are verified",
    )
    assert (weak["is_enforced"], weak["how"]) == (
        False,
        "sslmode=require does not verify the server: use sslmode=verify-full",
    )


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that the unit's user can use, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="precast-unit-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.needs("systemd-analyze")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can apply the unit's restrictions")
@pytest.mark.skipif(not unit_restrictions.HEADER.exists(), reason="no header of system calls for x86_64")
def test_server_starts_and_confines_within_the_restrictions_of_its_unit(open_directory: Path) -> None:
    """What systemd does by mounts and user namespaces is not applied here: ProtectSystem, PrivateTmp, PrivateUsers, ProcSubset."""
    unit = [sys.executable, "-m", "lab.unit_restrictions", str(UNIT)]
    data = open_directory / "data"
    made = precast("server", "init", "--data", data, prefix=unit)
    assert made.code == 0, made
    line, log = first_line(data, unit)
    assert (line.startswith("serving on "), log) == (True, "")
    checked = precast("server", "check", "--json", "--data", data, prefix=unit)
    assert checked.code == 0, checked
    measures = {
        measure["name"]: measure["is_enforced"] for measure in json.loads(checked.out)["processes"][0]["measures"]
    }
    assert measures == {
        "namespaces": False,
        "files": True,
        "limits": True,
        "user": False,
        "system calls": True,
        "network": True,
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_servers_environment_is_hidden_from_other_processes_of_its_user(open_directory: Path) -> None:
    """Defence in depth for the level `best`, and against every other program of the server's user."""
    ordinary = [sys.executable, "-m", "lab.ordinary_user"]
    made = precast("server", "init", "--data", open_directory / "data", prefix=ordinary)
    assert made.code == 0, made
    words = ["server", "--data", str(open_directory / "data"), "--listen", "127.0.0.1:0"]
    with subprocess.Popen([*ordinary, PRECAST, *words], stdout=subprocess.PIPE, env=environment(), text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("serving on ")
        script = f"import pathlib; pathlib.Path('/proc/{server.pid}/environ').read_bytes()"
        read = subprocess.run(
            [*ordinary, sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
        )
        server.terminate()
    assert "PermissionError" in read.stderr


def test_check_fails_if_the_configured_signer_does_not_answer(tmp_path: Path) -> None:
    ran = precast("server", "check", "--json", "--data", tmp_path, "--signer", tmp_path / "nobody.sock")
    assert ran.code == 1
    assert "does not answer" in json.loads(ran.out)["signer"]["how"]
