"""The form of tokens: a prefix for the sort, an id, a secret, and for enrolment the fingerprint of the authority.

pce1.ID.SECRET.FINGERPRINT    enrols a node, which thereby knows the authority before it connects
pcu1.ID.SECRET                identifies a person
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
    """The enrolment token that a new node gets."""

    id: str
    secret: bytes
    fingerprint: Digest

    def __str__(self) -> str:
        return f"pce1.{self.id}.{_text(self.secret)}.{self.fingerprint}"


class PersonSecret(NamedTuple):
    """The token that a person gets."""

    id: str
    secret: bytes

    def __str__(self) -> str:
        return f"pcu1.{self.id}.{_text(self.secret)}"


def parse_enrolment(text: str) -> EnrolmentSecret:
    """Parse a token. Raises InputError WIRE-002, which does not repeat the text."""
    kind, id_, secret, fingerprint = _split(text, 4, "an enrolment")
    if kind != "pce1" or not is_digest(fingerprint):
        raise issues.BAD_TOKEN.error(sort="an enrolment")
    return EnrolmentSecret(id_, _bytes(secret, "an enrolment"), Digest(fingerprint))


def parse_person(text: str) -> PersonSecret:
    """Parse a token. Raises InputError WIRE-002, which does not repeat the text."""
    kind, id_, secret = _split(text, 3, "a person's")
    if kind != "pcu1":
        raise issues.BAD_TOKEN.error(sort="a person's")
    return PersonSecret(id_, _bytes(secret, "a person's"))


def is_id(text: str) -> bool:
    """Whether the text has the form of a token id."""
    return _ID.fullmatch(text) is not None


def hash_secret(secret: bytes) -> bytes:
    """Hash a secret for storage. The secret is random and long, so a plain hash is enough."""
    return hashlib.sha256(secret).digest()


def is_secret(secret: bytes, stored: bytes) -> bool:
    return hmac.compare_digest(hash_secret(secret), stored)


def _split(text: str, parts: int, sort: str) -> list[str]:
    fields = text.strip().split(".")
    if len(fields) != parts or not is_id(fields[1]):
        raise issues.BAD_TOKEN.error(sort=sort)
    return fields


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).decode().rstrip("=")


def _bytes(text: str, sort: str) -> bytes:
    try:
        secret = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise issues.BAD_TOKEN.error(sort=sort) from None
    # The last character encodes spare bits; comparing the texts makes sure that one secret has one text.
    if len(secret) != SECRET_BYTES or _text(secret) != text:
        raise issues.BAD_TOKEN.error(sort=sort)
    return secret
