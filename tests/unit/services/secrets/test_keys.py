"""Master keys and the keys of environments: their text, what wraps what, and what a reference proves."""

import random

import pytest

from precast.base.encryption.sealing import SealBroken
from precast.catalog.secret_references import make_reference
from precast.services.secrets.keys import EnvironmentKeys, MasterKey, parse_master_keys

ONE, TWO = MasterKey(bytes(32)), MasterKey(b"2" * 32)


class CountedRandom:
    """Bytes that repeat from run to run."""

    def __init__(self) -> None:
        self._random = random.Random(7)

    def token_bytes(self, nbytes: int) -> bytes:
        return self._random.randbytes(nbytes)


def test_key_file_is_read_back_with_comments_and_in_order() -> None:
    text = f"# the key\n\n  {ONE.line}  # since 2026\n{TWO.line.lower()}\n{ONE.line}\n"
    assert parse_master_keys(text) == (ONE, TWO)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no key"),
        ("# only a comment\n", "no key"),
        (ONE.line[:-1] + "Q", "typing error"),
        (ONE.line + "\nsecret-in-clear\n", "typing error"),
        ("\n".join(MasterKey(bytes([n]) * 32).line for n in range(17)), "more than 16"),
        (MasterKey(b"short").line, "32 bytes"),
    ],
)
def test_key_file_with_an_error_is_refused_without_showing_it(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        parse_master_keys(text)
    assert "secret-in-clear" not in str(raised.value)
    assert ONE.line[:20] not in str(raised.value)


def test_id_tells_keys_apart_and_contains_nothing_of_them() -> None:
    assert ONE.id != TWO.id
    assert ONE.id not in ONE.line.lower()
    assert len(ONE.id) == 12


def test_wrapped_key_opens_for_its_environment_with_its_master_only() -> None:
    wrapped = ONE.wrap("production", b"k" * 32, CountedRandom())
    assert ONE.unwrap("production", wrapped) == b"k" * 32
    for master, environment in ((TWO, "production"), (ONE, "test")):
        with pytest.raises(SealBroken):
            master.unwrap(environment, wrapped)


def test_keys_of_environments_and_purposes_differ() -> None:
    keys = [EnvironmentKeys.derived(name, key) for name, key in (("a", b"a" * 32), ("b", b"b" * 32))]
    made = {key for each in keys for key in (each.reference, each.answer, each.value)}
    assert len(made) == 6
    assert len({each.refer(b'"1234"') for each in keys}) == 2


def test_node_verifies_a_value_with_its_salt() -> None:
    keys = EnvironmentKeys.derived("a", b"a" * 32)
    ref = keys.refer(b'"1234"')
    assert make_reference(keys.salt(b'"1234"'), b'"1234"') == ref
    assert make_reference(keys.salt(b'"1234"'), b'"1235"') != ref


def test_value_opens_under_its_own_reference_only() -> None:
    keys = EnvironmentKeys.derived("a", b"a" * 32)
    one, two = keys.refer(b'"1"'), keys.refer(b'"2"')
    sealed = keys.seal(one, b'"1"', CountedRandom())
    assert keys.unseal(one, sealed) == b'"1"'
    with pytest.raises(SealBroken):
        keys.unseal(two, sealed)
    with pytest.raises(SealBroken):
        keys.unseal(one, keys.seal(one, b'"2"', CountedRandom()))
    with pytest.raises(SealBroken):
        EnvironmentKeys.derived("b", b"a" * 32).unseal(one, sealed)
