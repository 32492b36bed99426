"""Sealed values: what is sealed for a place opens there with the same key, and nowhere else."""

import pytest

from precast.base.encryption.sealing import KEY_BYTES, SealBroken, derive, seal, unseal

KEY = b"k" * KEY_BYTES
OTHER = bytes(KEY_BYTES)


@pytest.mark.parametrize("data", [b"", b"x", b"secret" * 100_000])
def test_sealed_value_opens_at_its_place(data: bytes) -> None:
    sealed = seal(KEY, data, b"place")
    assert unseal(KEY, sealed, b"place") == data
    assert b"secret" not in sealed


def test_value_sealed_twice_gives_different_bytes() -> None:
    assert seal(KEY, b"1234", b"place") != seal(KEY, b"1234", b"place")


@pytest.mark.parametrize(("key", "place"), [(OTHER, b"place"), (KEY, b"other"), (KEY, b""), (OTHER, b"other")])
def test_value_does_not_open_with_another_key_or_elsewhere(key: bytes, place: bytes) -> None:
    with pytest.raises(SealBroken):
        unseal(key, seal(KEY, b"1234", b"place"), place)


def test_changed_value_does_not_open() -> None:
    sealed = seal(KEY, b"1234", b"place")
    for at in range(len(sealed)):
        with pytest.raises(SealBroken):
            unseal(KEY, sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :], b"place")


def test_cut_value_does_not_open() -> None:
    sealed = seal(KEY, b"1234", b"place")
    for size in range(len(sealed)):
        with pytest.raises(SealBroken):
            unseal(KEY, sealed[:size], b"place")


def test_keys_of_two_purposes_differ() -> None:
    assert len({derive(KEY, "a"), derive(KEY, "b"), derive(bytes(KEY_BYTES), "a"), KEY}) == 4
