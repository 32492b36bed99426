"""Output of systemctl, recorded on Debian 12 (systemd 252)."""

import pytest

from precast.resources.service.init_system import Condition
from precast.resources.service.systemd import parse_show


def unit(active: str, file: str, load: str = "loaded") -> str:
    return f"Id=x.service\nLoadState={load}\nActiveState={active}\nUnitFileState={file}\n"


def test_several_units_come_back_in_their_order() -> None:
    text = "\n".join([unit("active", "enabled"), unit("inactive", "disabled"), unit("inactive", "", "not-found")])
    assert parse_show(text) == [Condition(True, "true"), Condition(False, "false"), Condition(False, "false")]


@pytest.mark.parametrize(
    ("active", "is_running"),
    [("active", True), ("reloading", True), ("activating", False), ("deactivating", False), ("failed", False)],
)
def test_a_unit_runs_while_it_is_active(active: str, is_running: bool) -> None:
    (condition,) = parse_show(unit(active, "enabled"))
    assert condition.is_running is is_running


@pytest.mark.parametrize(
    ("file", "enable", "has_choice"),
    [
        ("enabled", "true", True),
        ("enabled-runtime", "true", True),
        ("static", "true", False),
        ("indirect", "false", False),
        ("generated", "true", False),
        ("disabled", "false", True),
        ("masked", "mask", True),
    ],
)
def test_state_of_the_unit_file_says_whether_it_starts_at_boot(file: str, enable: str, has_choice: bool) -> None:
    (condition,) = parse_show(unit("inactive", file))
    assert (condition.enable, condition.has_choice) == (enable, has_choice)
