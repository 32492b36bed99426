"""service: the choice of the init system and its commands. tests/differential/apply uses real init systems."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.resources.contract import DesiredResource
from precast.resources.service.handler import Service
from tests.unit.resources.applied_resource import differences, handler, machine
from tests.unit.resources.recorded import Answer, RecordedMachine


def made(node: RecordedMachine, **parameters: Any) -> Service:
    found = handler(node, "service", "web", **parameters)
    assert isinstance(found, Service)
    return found


def on(tmp_path: Path, *programs: str, **answers: Answer) -> RecordedMachine:
    node = RecordedMachine(tmp_path, {key.replace("_", " "): value for key, value in answers.items()})
    node.programs(*programs)
    return node


@pytest.mark.parametrize(
    ("programs", "directory", "name"),
    [
        (["update-rc.d"], "run/systemd/system", "systemd"),
        (["rc-service"], "", "openrc"),
        (["update-rc.d"], "", "debian"),
        (["chkconfig"], "", "redhat"),
        ([], "", "init"),
    ],
)
def test_init_system_that_runs_is_taken(tmp_path: Path, programs: list[str], directory: str, name: str) -> None:
    (tmp_path / directory).mkdir(parents=True, exist_ok=True)
    assert made(on(tmp_path, *programs)).system.name == name


def test_all_units_of_a_catalog_are_asked_for_at_once(tmp_path: Path) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    units = "\n".join(f"Id={name}.service\nActiveState=active\nUnitFileState=enabled\n" for name in ("web", "db"))
    question = "systemctl show -p Id,LoadState,ActiveState,UnitFileState -- web db"
    node = RecordedMachine(tmp_path, {question: (0, units)})
    node.declare([DesiredResource("service", "web", {}), DesiredResource("service", "db", {})], {})
    for name in ("web", "db"):
        assert differences(node, "service", name, ensure="running", enable=True) == []
    assert node.ran == [question]


def test_openrc_is_asked_and_told(tmp_path: Path) -> None:
    node = on(tmp_path, "rc-service", **{"rc-service_web_status": (3, "stopped")})
    (tmp_path / "etc/runlevels/default").mkdir(parents=True)
    service = made(node, ensure="running", enable=True)
    (change,) = service.compare(service.read())
    assert change.message == "ensure changed 'stopped' to 'running'"
    service.apply(change)
    assert node.ran[-2:] == ["rc-service web start", "rc-update -C add web"]
    (tmp_path / "etc/runlevels/default/web").symlink_to("/etc/init.d/web")
    assert made(node).read() == {"ensure": "stopped", "enable": "true"}


def test_red_hats_scripts_are_enabled_with_chkconfig(tmp_path: Path) -> None:
    node = on(tmp_path, "chkconfig", chkconfig_web=(1, ""))
    (tmp_path / "etc/init.d").mkdir(parents=True)
    (tmp_path / "etc/init.d/web").touch()
    service = made(node, ensure="running", enable=True)
    (change,) = service.compare(service.read())
    assert change.message == "enable changed 'false' to 'true'"
    service.apply(change)
    assert node.ran == ["/etc/init.d/web status", "chkconfig web", "chkconfig --add web", "chkconfig web on"]


def test_script_that_is_not_there_counts_as_stopped_and_fails_to_start(tmp_path: Path) -> None:
    service = made(on(tmp_path), ensure="running")
    (change,) = service.compare(service.read())
    with pytest.raises(NotFoundError, match="there is no init script for web"):
        service.apply(change)


def test_own_commands_are_used(tmp_path: Path) -> None:
    node = RecordedMachine(tmp_path, {"/bin/sh -c is-up": (1, ""), "/bin/sh -c go-up": (7, "no way\n")})
    service = made(node, provider="base", ensure="running", status="is-up", start="go-up")
    assert service.runs_user_commands
    (change,) = service.compare(service.read())
    with pytest.raises(UnavailableError, match="`go-up` ended with 7: no way"):
        service.apply(change)


def test_notified_service_restarts_only_if_it_runs(tmp_path: Path) -> None:
    for code, expected in ((0, ["/bin/sh -c again"]), (1, [])):
        node = RecordedMachine(tmp_path, {"/bin/sh -c is-up": (code, "")})
        made(node, provider="base", status="is-up", restart="again").refresh()
        assert node.ran[1:] == expected


def test_process_is_looked_for_by_its_pattern(tmp_path: Path) -> None:
    (tmp_path / "proc/42").mkdir(parents=True)
    (tmp_path / "proc/42/cmdline").write_bytes(b"/usr/bin/web\0--serve\0")
    node = RecordedMachine(tmp_path, {})
    assert made(node, provider="base", hasstatus=False, pattern="web --serve").read()["ensure"] == "running"
    assert made(node, provider="base", hasstatus=False, pattern="other").read()["ensure"] == "stopped"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"ensure": "up"}, "ensure cannot be 'up'"),
        ({"enable": "manual"}, "enable cannot be 'manual': debian does not support it"),
        ({"provider": "launchd"}, "service has no provider launchd here"),
        ({"hasstatus": "maybe"}, "hasstatus cannot be 'maybe'"),
    ],
)
def test_wrong_values_fail_when_planned(tmp_path: Path, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(on(tmp_path, "update-rc.d"), **parameters)


def test_service_is_refused_below_a_root_that_is_no_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be applied below"):
        handler(machine(tmp_path), "service", "web")
