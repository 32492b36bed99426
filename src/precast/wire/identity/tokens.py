"""The form of tokens: what they are for, an id, a secret, and for enrolment the fingerprint of the authority.

pce1.ID.SECRET.FINGERPRINT    enrols a node: it knows the authority before it trusts anyone
pcu1.ID.SECRET                a person
"""

import base64
import hashlib
import hmac
import re
from typing import NamedTuple

from precast.base.digests import Digest, is_digest
from precast.wire import issues

SECRET_BYTES = 32

_ID = re.compile(r"[0-9a-f-]{36}")


class EnrolmentSecret(NamedTuple):
    """What a new node is given."""

    id: str
    secret: bytes
    fingerprint: Digest

    def __str__(self) -> str:
        return f"pce1.{self.id}.{_text(self.secret)}.{self.fingerprint}"


class PersonSecret(NamedTuple):
    """What a person is given."""

    id: str
    secret: bytes

    def __str__(self) -> str:
        return f"pcu1.{self.id}.{_text(self.secret)}"


def parse_enrolment(text: str) -> EnrolmentSecret:
    """Raises InputError WIRE-002, without repeating the text."""
    kind, id_, secret, fingerprint = _split(text, 4, "an enrolment")
    if kind != "pce1" or not is_digest(fingerprint):
        raise issues.BAD_TOKEN.error(sort="an enrolment")
    return EnrolmentSecret(id_, _bytes(secret, "an enrolment"), Digest(fingerprint))


def parse_person(text: str) -> PersonSecret:
    """Raises InputError WIRE-002, without repeating the text."""
    kind, id_, secret = _split(text, 3, "a person's")
    if kind != "pcu1":
        raise issues.BAD_TOKEN.error(sort="a person's")
    return PersonSecret(id_, _bytes(secret, "a person's"))


def is_id(text: str) -> bool:
    """Whether this can be the id of a token."""
    return _ID.fullmatch(text) is not None


def hash_secret(secret: bytes) -> bytes:
    """What is stored. The secret is random and long, so a plain hash is enough."""
    return hashlib.sha256(secret).digest()


def is_secret(secret: bytes, stored: bytes) -> bool:
    return hmac.compare_digest(hash_secret(secret), stored)


def _split(text: str, parts: int, sort: str) -> list[str]:
    found = text.strip().split(".")
    if len(found) != parts or not is_id(found[1]):
        raise issues.BAD_TOKEN.error(sort=sort)
    return found


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).decode().rstrip("=")


def _bytes(text: str, sort: str) -> bytes:
    try:
        secret = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise issues.BAD_TOKEN.error(sort=sort) from None
    # The last character has room for more than the secret: one secret has one text.
    if len(secret) != SECRET_BYTES or _text(secret) != text:
        raise issues.BAD_TOKEN.error(sort=sort)
    return secret
