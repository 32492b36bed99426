"""The settings of all programs as they are declared, and the settings file of the client."""

from collections import Counter
from pathlib import Path

import pytest

from precast.base.settings import Settings, declared
from precast.cli.console.settings import ClientSettings
from precast.cli.server.config import AREAS


def test_variable_belongs_to_one_setting_except_the_address_that_client_and_agent_share() -> None:
    counts = Counter(setting.variable for cls in AREAS for setting in declared(cls))
    assert [name for name, count in counts.items() if count > 1] == ["PRECAST_URL"]


@pytest.mark.parametrize("cls", AREAS)
def test_default_is_a_value_that_the_setting_accepts(cls: type[Settings]) -> None:
    for declaration in declared(cls):
        shown = declaration.setting.show(declaration.default)
        if shown:
            assert declaration.read(shown) == declaration.default, declaration.name


def test_client_file_follows_xdg_unless_that_is_relative(tmp_path: Path) -> None:
    place = ClientSettings.area.place
    assert place({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "precast" / "client.toml"
    assert place({"XDG_CONFIG_HOME": "x"}) == place({})
