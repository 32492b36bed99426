"""Digests of bytes, of chunks and of data."""

import math

import pytest

from precast.base import digests
from precast.base.errors import InputError

OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1


def test_of_bytes_is_sha256_in_lower_case_hex() -> None:
    assert digests.of_bytes(b"") == OF_NOTHING
    assert digests.of_bytes(b"abc") == OF_ABC


@pytest.mark.parametrize("chunks", [[b"abc"], [b"a", b"", b"bc"], [b"ab", b"c"]])
def test_of_chunks_however_cut_is_that_of_the_whole(chunks: list[bytes]) -> None:
    assert digests.of_chunks(chunks) == OF_ABC
    assert digests.of_chunks(iter(chunks)) == OF_ABC


def test_of_chunks_without_any_is_that_of_nothing() -> None:
    assert digests.of_chunks([]) == OF_NOTHING


def test_of_value_is_that_of_the_canonical_bytes() -> None:
    assert digests.of_value({"b": 1, "a": [1.0, None]}) == digests.of_bytes(b'{"a":[1.0,null],"b":1}')


def test_of_value_of_an_integer_and_its_float_differ() -> None:
    assert digests.of_value(1) != digests.of_value(1.0)


def test_of_value_without_a_canonical_form_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        digests.of_value([math.nan])
    assert caught.value.code == "JSON-001"


def test_is_digest_of_64_lower_case_hex_digits_holds() -> None:
    assert digests.is_digest(OF_ABC)


@pytest.mark.parametrize(
    "text", ["", OF_ABC[:-1], OF_ABC + "0", OF_ABC.upper(), OF_ABC + "\n", " " + OF_ABC[1:], "g" + OF_ABC[1:], "٣" * 64]
)
def test_is_digest_of_anything_else_does_not_hold(text: str) -> None:
    assert not digests.is_digest(text)
