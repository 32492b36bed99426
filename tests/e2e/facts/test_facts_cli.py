"""`precast facts local` as a person uses it: the real command on this machine and on machines made of files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from precast import __version__
from tests.unit.agent.facts.roots import DEBIAN, fill

PRECAST = Path(sys.executable).with_name("precast")


def facts(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PRECAST, "facts", "local", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def here() -> "subprocess.CompletedProcess[str]":
    return facts("--json")


def test_facts_of_this_machine_as_json_are_one_document_without_warnings(
    here: "subprocess.CompletedProcess[str]",
) -> None:
    assert (here.returncode, here.stderr) == (0, "")
    collected = json.loads(here.stdout)
    assert collected["kernelrelease"] == os.uname().release
    assert collected["os"]["hardware"] == os.uname().machine
    assert collected["precastversion"] == __version__
    assert (
        collected["processors"]["count"] == len(os.sched_getaffinity(0))
        or collected["processors"]["count"] == os.cpu_count()
    )
    assert list(collected) == sorted(collected)


def test_facts_without_paths_are_one_line_each(tmp_path: Path) -> None:
    done = facts("--root", fill(tmp_path, DEBIAN))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "os.release.major = 12" in lines
    assert "os.selinux.enabled = false" in lines


def test_facts_with_one_path_to_a_value_print_it_alone(tmp_path: Path) -> None:
    assert facts("--root", fill(tmp_path, DEBIAN), "os.release.major").stdout == "12\n"


def test_facts_with_several_paths_print_only_those(tmp_path: Path) -> None:
    done = facts("--root", fill(tmp_path, DEBIAN), "os.name", "os.release")
    assert done.stdout == "os.name = Debian\nos.release.full = 12.08\nos.release.major = 12\nos.release.minor = 8\n"


def test_facts_with_paths_as_json_are_keyed_by_path(tmp_path: Path) -> None:
    done = facts("--root", fill(tmp_path, DEBIAN), "--json", "os.release.major", "os.name")
    assert json.loads(done.stdout) == {"os.release.major": "12", "os.name": "Debian"}


def test_facts_with_a_path_that_leads_nowhere_guess_and_exit_66(tmp_path: Path) -> None:
    done = facts("--root", fill(tmp_path, DEBIAN), "os.relase.major")
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr == (
        "precast: error: there is no fact os.relase.major; did you mean os.release.major? [FACT-001]\n"
        "  hint: list all facts with `precast facts local`\n"
    )


def test_legacy_names_are_hidden_until_asked_for(tmp_path: Path) -> None:
    root = fill(tmp_path, DEBIAN)
    assert "osfamily" not in json.loads(facts("--root", root, "--json").stdout)
    assert json.loads(facts("--root", root, "--json", "--legacy").stdout)["osfamily"] == "Debian"
    assert facts("--root", root, "osfamily").stdout == "Debian\n"


@pytest.mark.parametrize("option", ["--root", "--facts-d", "--plugins"])
def test_directory_that_is_asked_for_and_missing_is_refused(tmp_path: Path, option: str) -> None:
    done = facts(option, tmp_path / "missing")
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr == (
        f"precast: error: {tmp_path}/missing is not a directory [FACT-002]\n"
        f"  hint: give {option} a directory that exists\n"
    )


def test_interrupt_ends_a_program_that_is_being_run(tmp_path: Path) -> None:
    place, pipe = tmp_path / "facts.d", tmp_path / "pipe"
    place.mkdir(mode=0o755)
    os.mkfifo(pipe)
    # A pipe holds 64 KB: when more has been written, the command must be reading.
    (place / "run").write_text(f"#!/bin/sh\nhead -c 200000 /dev/zero\necho $$ > {pipe}\nexec sleep 600\n")
    (place / "run").chmod(0o755)
    command = subprocess.Popen([PRECAST, "facts", "local", "--facts-d", place], stdout=subprocess.DEVNULL)
    pid = int(pipe.read_text())
    command.send_signal(signal.SIGINT)
    assert command.wait(20) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_external_facts_of_a_directory_override_and_warn(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "site.yaml").write_text("site: Mainz\ntimezone: MOON\n")
    (tmp_path / "broken.json").write_text("{")
    done = facts("--json", "--facts-d", tmp_path)
    collected = json.loads(done.stdout)
    assert (done.returncode, collected["site"], collected["timezone"]) == (0, "Mainz", "MOON")
    assert done.stderr.startswith(f"precast: warning: {tmp_path}/broken.json has no valid facts: it is not valid JSON")
    assert done.stderr.count("\n") == 1


def test_plugin_of_a_directory_gives_facts(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "rack.py").write_text('def facts():\n    return {"rack": {"row": 4}}\n')
    assert facts("--plugins", tmp_path, "rack.row").stdout == "4\n"
