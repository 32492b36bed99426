"""exec, with real commands."""

from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.resources.contract import Change, DesiredResource
from precast.resources.exec import Exec


def exec_of(place: Path, command: Any, **parameters: Any) -> Exec:
    node = Machine("", str(place), SystemClock())
    return Exec(DesiredResource("exec", "e", {"command": command, "path": "/bin:/usr/bin", **parameters}), node)


def changes(handler: Exec) -> list[Change]:
    return list(handler.compare(handler.read()))


def test_command_without_guards_always_wants_to_run(tmp_path: Path) -> None:
    handler = exec_of(tmp_path, f"touch {tmp_path}/x")
    (change,) = changes(handler)
    assert (change.property, change.previous, change.desired) == ("returns", "notrun", ["0"])
    handler.apply(change)
    assert (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("parameters", "wants"),
    [
        ({"creates": "/nowhere"}, True),
        ({"creates": ["/nowhere", "/etc"]}, False),
        ({"unless": "true"}, False),
        ({"unless": "false"}, True),
        ({"unless": ["false", "true"]}, False),
        ({"onlyif": "true"}, True),
        ({"onlyif": ["true", "false"]}, False),
        ({"onlyif": [["test", "-d", "/etc"]]}, True),
        ({"onlyif": "test -d /etc && test ! -d /nowhere"}, True),
        ({"onlyif": "true", "creates": "/etc"}, False),
        ({"refreshonly": True}, False),
    ],
)
def test_guards_decide(tmp_path: Path, parameters: dict[str, Any], wants: bool) -> None:
    handler = exec_of(tmp_path, "true", **parameters)
    assert bool(changes(handler)) is wants
    assert handler.runs_user_commands is ("onlyif" in parameters or "unless" in parameters)


def test_wrong_exit_code_is_an_error_in_puppets_words_with_the_output(tmp_path: Path) -> None:
    handler = exec_of(tmp_path, "sh -c 'echo why; exit 3'", returns=[0, 2])
    with pytest.raises(PrecastError) as caught:
        handler.apply(changes(handler)[0])
    assert caught.value.message == "'sh -c 'echo why; exit 3'' returned 3 instead of one of [0,2]"
    assert handler.take_logs() == [("notice", "why")]


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    node = Machine("", str(tmp_path), SystemClock())
    resource = DesiredResource("exec", "e", {"command": "/bin/sh -c 'echo hunter2; false'"}, frozenset(["command"]))
    handler = Exec(resource, node)
    with pytest.raises(PrecastError) as caught:
        handler.apply(changes(handler)[0])
    assert "hunter2" not in caught.value.message + str(handler.take_logs())


def test_environment_directory_and_umask_reach_the_command(tmp_path: Path) -> None:
    handler = exec_of(
        tmp_path, 'sh -c "echo $A $LANG $PWD > out"', environment=["A=one", "B=two"], cwd=str(tmp_path), umask="077"
    )
    handler.apply(changes(handler)[0])
    assert (tmp_path / "out").read_text() == f"one C {tmp_path}\n"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


def test_tries_again_until_it_works(tmp_path: Path) -> None:
    handler = exec_of(tmp_path, f"mkdir -p {tmp_path}/a && rmdir {tmp_path}/a/../b || ! mkdir {tmp_path}/b", tries=2)
    handler.apply(changes(handler)[0])


def test_refresh_runs_the_other_command_if_one_is_given(tmp_path: Path) -> None:
    exec_of(tmp_path, "false", refresh=f"touch {tmp_path}/r", refreshonly=True).refresh()
    assert (tmp_path / "r").exists()


def test_shell_provider_and_plain_one_find_programs_as_puppet_does(tmp_path: Path) -> None:
    handler = exec_of(tmp_path, "umask >/dev/null; true", provider="shell")
    handler.apply(changes(handler)[0])
    missing = exec_of(tmp_path, "nosuch; true")
    (change,) = changes(missing)
    with pytest.raises(PrecastError, match="nosuch"):
        missing.apply(change)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [({"command": "ls"}, "RESOURCE-020"), ({"command": "/bin/ls", "provider": "windows"}, "RESOURCE-009"),
     ({"command": "/bin/ls", "tries": "many"}, "RESOURCE-006"), ({"command": "/bin/ls", "onlyif": "true"}, "RESOURCE-020")],
)  # fmt: skip
def test_what_cannot_be_is_refused_when_planned(tmp_path: Path, parameters: dict[str, Any], code: str) -> None:
    with pytest.raises(PrecastError) as caught:
        Exec(DesiredResource("exec", "e", parameters), Machine("", str(tmp_path), SystemClock()))
    assert caught.value.code == code


def test_refuses_below_a_root_that_is_no_system(tmp_path: Path) -> None:
    with pytest.raises(PrecastError) as caught:
        Exec(
            DesiredResource("exec", "e", {"command": "/bin/true"}), Machine(str(tmp_path), str(tmp_path), SystemClock())
        )
    assert caught.value.code == "RESOURCE-008"
