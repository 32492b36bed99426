"""Certificate extensions by Puppet's names."""

import pytest

from precast.base.errors import InputError
from precast.services.identity import extensions


def test_identifiers_are_the_ones_puppet_registered() -> None:
    identifiers = {name: extensions.IDENTIFIERS[name].dotted_string for name in ("pp_uuid", "pp_role", "pp_hostname")}
    assert identifiers == {
        "pp_uuid": "1.3.6.1.4.1.34380.1.1.1",
        "pp_role": "1.3.6.1.4.1.34380.1.1.13",
        "pp_hostname": "1.3.6.1.4.1.34380.1.1.25",
    }
    assert extensions.IDENTIFIERS["pp_auth_role"].dotted_string == "1.3.6.1.4.1.34380.1.3.13"
    assert len({identifier.dotted_string for identifier in extensions.IDENTIFIERS.values()}) == len(
        extensions.IDENTIFIERS
    )


@pytest.mark.parametrize(
    ("value", "head"),
    [
        ("", b"\x0c\x00"),
        ("web", b"\x0c\x03web"),
        ("é" * 63, b"\x0c\x7e"),
        ("x" * 128, b"\x0c\x81\x80x"),
        ("x" * 256, b"\x0c\x82\x01\x00x"),
    ],
)
def test_value_is_a_utf8_string_in_der(value: str, head: bytes) -> None:
    (made,) = extensions.to_x509({"pp_role": value})
    assert made.value.startswith(head)
    assert made.value.endswith(value.encode())


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("pp_rôle", "x", "AUTH-004"),
        ("1.2.3", "x", "AUTH-004"),
        ("pp_role", "x" * 501, "AUTH-002"),
        ("pp_role", "\n", "AUTH-005"),
    ],
)
def test_invalid_extension_is_refused(name: str, value: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        extensions.check({"pp_zone": "a", name: value})
    assert caught.value.code == code
