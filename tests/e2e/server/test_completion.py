"""Completion in the real shells."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.precast_command import environment
from tests.e2e.precast_server import Server, precast, running

BIN = str(Path(sys.executable).parent)


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "script"
    ran = precast("completion", request.param)
    assert (ran.code, ran.err) == (0, "")
    path.write_text(ran.out)
    return path


def shell(*words: str, env: dict[str, str] | None = None) -> list[str]:
    variables = environment({"XDG_CONFIG_HOME": "/nonexistent", **(env or {})})
    variables["PATH"] = f"{BIN}:{variables['PATH']}"
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=variables, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.split("\n")[:-1]


def in_bash(script: Path, *words: str, env: dict[str, str] | None = None) -> set[str]:
    code = (
        """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _precast; printf '%s\\n' "${COMPREPLY[@]}" """
    )
    return set(shell("bash", "--norc", "-c", code, "bash", str(script), *words, env=env)) - {""}


def in_fish(script: Path, *words: str) -> set[str]:
    line = " ".join(words)
    lines = shell("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
    return {line.split("\t")[0] for line in lines}


def in_zsh(script: Path, *words: str) -> set[str]:
    """Zsh's own completion functions are replaced by functions that print their arguments."""
    code = """
    _describe() { print -rl -- ${(P)2%%:*}; }
    compadd() { shift; print -rl -- "$@"; }
    _files() { print files; }
    script=$1; shift; words=("$@"); CURRENT=$#; PREFIX=${words[-1]}
    source $script
    """
    offered = set(shell("zsh", "-f", "-c", code, "zsh", str(script), *words)) - {""}
    return {word for word in offered if word.startswith(words[-1])}


CASES = [
    (("precast", "no"), {"node"}),
    (
        ("precast", "node", ""),
        {"list", "show", "set", "deactivate", "reactivate", "purge", "rules", "refresh", "policy", "choose-machine"},
    ),
    (("precast", "server", "--da"), {"--data", "--database"}),
    (("precast", "node", "list", "--dea"), {"--deactivated"}),
    (("precast", "--url", "x", "db", "work", "--it"), {"--items"}),
]


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash_completes(script: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert {word for word in in_bash(script, *words) if not word.startswith("--help")} == expected


@pytest.mark.needs("fish")
@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), CASES[:4])
def test_fish_completes(script: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert in_fish(script, *words) == expected


@pytest.mark.needs("zsh")
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_zsh_completes(script: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert in_zsh(script, *words) == expected


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_nodes_are_completed_from_the_server_and_silently_skipped_without_one(script: Path, tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with running(server):
        token = server.read("token", "enrol", "web1.test")["token"]
        server.enrol(tmp_path / "node", "web1.test", token)
        assert in_bash(script, "precast", "node", "show", "we", env=server.env) == {"web1.test"}
    assert in_bash(script, "precast", "node", "show", "we", env=server.env) == set()
    assert in_bash(script, "precast", "node", "show", "we") == set()
