"""The settings of the server: addresses, and the location of the database."""

import pytest

from precast.app.settings import Address, ServerSettings, read_address
from precast.base.setting_values import InvalidValueError
from precast.base.settings import load


@pytest.mark.parametrize(
    ("text", "address"),
    [("h:1", Address("h", 1)), ("[::1]:8140", Address("::1", 8140)), ("0.0.0.0:0", Address("0.0.0.0", 0))],
)
def test_address_is_read_and_shown_alike(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "h", ":1", "h:", "h:x", "h:65536", 8140])
def test_invalid_address_is_refused(text: object) -> None:
    with pytest.raises(InvalidValueError):
        read_address(text)


def test_database_is_in_the_data_directory_by_default() -> None:
    assert load(ServerSettings, {"data": "/x"}, {}).values.location == "/x/precast.db"
    assert load(ServerSettings, {"data": "/x", "database": "/y"}, {}).values.location == "/y"


def test_database_is_shown_without_its_password() -> None:
    rows = load(ServerSettings, {"database": "postgresql://u:geheim@h/d"}, {}).rows()
    assert ("database", "postgresql://u@h/d", "--database") in rows
    assert "geheim" not in str(load(ServerSettings, {"database": "postgresql://u:ge/heim@h/d"}, {}).rows())
