"""The form of tokens: parsing restores them, and an error never repeats an invalid one."""

import string
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import digests
from precast.base.errors import InputError
from precast.wire.identity import tokens

ID = "01890000-0000-7000-8000-000000000000"
SECRET = bytes(range(200, 232))
ENROLMENT = str(tokens.EnrolmentSecret(ID, SECRET, digests.of_bytes(b"authority")))
PERSON = str(tokens.PersonSecret(ID, SECRET))


@given(st.binary(min_size=32, max_size=32), st.uuids())
def test_parsed_token_equals_the_original(secret: bytes, id_: object) -> None:
    person = tokens.PersonSecret(str(id_), secret)
    assert tokens.parse_person(f" {person}\n") == person
    enrolment = tokens.EnrolmentSecret(str(id_), secret, digests.of_bytes(secret))
    assert tokens.parse_enrolment(str(enrolment)) == enrolment


def test_secret_has_one_text() -> None:
    good = []
    for last in string.ascii_letters + string.digits + "-_":
        try:
            good.append((last, tokens.parse_person(PERSON[:-1] + last).secret))
        except InputError:
            continue
    assert len({secret for _, secret in good}) == len(good) == 16
    assert (PERSON[-1], SECRET) in good


def test_token_of_the_other_sort_is_refused() -> None:
    for parse, text in ((tokens.parse_person, ENROLMENT), (tokens.parse_enrolment, PERSON)):
        with pytest.raises(InputError) as caught:
            parse(text)
        assert caught.value.code == "WIRE-002"


@given(st.text())
def test_text_that_is_not_a_token_is_refused(text: str) -> None:
    for parse in (tokens.parse_person, tokens.parse_enrolment):
        with pytest.raises(InputError, match="this is not"):
            parse(text)


@given(
    st.sampled_from([ENROLMENT, PERSON]),
    st.integers(0, 200),
    st.sampled_from(["", ".", "!", "é", "\0", "=", "AAAA", "\n"]),
)
def test_damaged_token_is_refused_without_being_repeated(text: str, place: int, put: str) -> None:
    parse = tokens.parse_enrolment if text == ENROLMENT else tokens.parse_person
    secret = text.split(".")[2]
    try:
        parsed = parse(text[:place] + put + text[place + 1 :])
    except InputError as error:
        said = "".join(traceback.format_exception(error, limit=0)) + error.render()
        refused = error.code
    else:
        assert len(parsed.secret) == tokens.SECRET_BYTES
        return
    assert refused == "WIRE-002"
    assert [secret[at : at + 6] for at in range(len(secret) - 6) if secret[at : at + 6] in said] == []


def test_stored_hash_matches_its_secret_only() -> None:
    stored = tokens.hash_secret(SECRET)
    assert SECRET not in stored
    assert tokens.is_secret(SECRET, stored)
    assert not tokens.is_secret(SECRET[::-1], stored)
    assert not tokens.is_secret(b"", stored)


@pytest.mark.parametrize(
    ("text", "is_id"), [(ID, True), ("", False), ("x" * 36, False), (ID + "0", False), ("..", False)]
)
def test_token_id_is_distinguished_from_other_texts(text: str, is_id: bool) -> None:
    assert tokens.is_id(text) is is_id
