"""The settings of the three programs, as they are declared."""

from collections import Counter
from pathlib import Path

import pytest

from precast.app.settings import Address, ClientSettings, ServerSettings, read_address
from precast.base.setting_values import Unfit
from precast.base.settings import declared, load
from precast.cli.server.config import AREAS


def test_variable_belongs_to_one_setting_except_the_address_that_client_and_agent_share() -> None:
    counts = Counter(one.variable for cls in AREAS for one in declared(cls))
    assert [name for name, count in counts.items() if count > 1] == ["PRECAST_URL"]


@pytest.mark.parametrize("cls", AREAS)
def test_default_is_a_value_that_the_setting_takes(cls: type[ServerSettings]) -> None:
    for one in declared(cls):
        shown = one.setting.show(one.default)
        if shown:
            assert one.read(shown) == one.default, one.name


@pytest.mark.parametrize(
    ("text", "address"),
    [("h:1", Address("h", 1)), ("[::1]:8140", Address("::1", 8140)), ("0.0.0.0:0", Address("0.0.0.0", 0))],
)
def test_address_is_read_and_shown_alike(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "h", ":1", "h:", "h:x", "h:65536", 8140])
def test_address_that_is_none_is_refused(text: object) -> None:
    with pytest.raises(Unfit):
        read_address(text)


def test_database_lies_in_the_data_directory_unless_it_is_given() -> None:
    assert load(ServerSettings, {"data": "/x"}, {}).values.location == "/x/precast.db"
    assert load(ServerSettings, {"data": "/x", "database": "/y"}, {}).values.location == "/y"


def test_database_is_shown_without_its_password() -> None:
    rows = load(ServerSettings, {"database": "postgresql://u:geheim@h/d"}, {}).rows()
    assert ("database", "postgresql://u@h/d", "--database") in rows
    assert "geheim" not in str(load(ServerSettings, {"database": "postgresql://u:ge/heim@h/d"}, {}).rows())


def test_client_file_follows_xdg_unless_that_is_relative(tmp_path: Path) -> None:
    place = ClientSettings.area.place
    assert place({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "precast" / "client.toml"
    assert place({"XDG_CONFIG_HOME": "x"}) == place({})
