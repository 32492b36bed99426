"""What a package installs beside the program: systemd's units, the man page, log rotation."""

import re
import subprocess
from pathlib import Path

import pytest

from precast.agent.settings import AgentSettings
from precast.base.settings import declared
from precast.cli.main import build_parser

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
UNITS = ["precast-agent.service", "precast-server.service"]
MAN = PACKAGING / "man" / "precast-agent.8"


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_unit_is_what_systemd_takes(tmp_path: Path, name: str) -> None:
    unit = tmp_path / name
    # Here the program is elsewhere; that is all that is changed.
    unit.write_text((PACKAGING / "systemd" / name).read_text().replace("/usr/bin/precast ", "/bin/true "))
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
def test_unit_starts_a_command_that_exists(name: str) -> None:
    found = re.search(r"^ExecStart=/usr/bin/precast (.+)$", (PACKAGING / "systemd" / name).read_text(), re.MULTILINE)
    assert found is not None
    words = found[1].split()
    assert callable(build_parser(words[:1]).parse_args(words).run)


@pytest.mark.needs("groff")
def test_man_page_has_no_mistakes() -> None:
    done = run("groff", "-man", "-ww", "-z", MAN)
    assert (done.returncode, done.stderr) == (0, "")


def test_man_page_names_every_command_and_only_options_that_exist() -> None:
    text = MAN.read_text().replace("\\-", "-")
    for command in ("run", "status", "enrol", "renew", "facts"):
        assert re.search(rf"^\.B {command}$", text, re.MULTILINE), command
    known = {one.flag for one in declared(AgentSettings)} | {"--config", "--root", "--json", "--help", "--now"}
    known |= {"--token", "--name", "--if-due", "--spool"}
    assert set(re.findall(r"--[a-z][a-z-]+", text)) <= known


@pytest.mark.needs("logrotate")
def test_rotation_is_what_logrotate_takes() -> None:
    done = run("logrotate", "--debug", PACKAGING / "logrotate" / "precast")
    assert done.returncode == 0, done.stderr
