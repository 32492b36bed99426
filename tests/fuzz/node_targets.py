"""Fuzz targets for what a node or a stranger sends to a server: frames, fact sets, tokens, certificate requests."""

import zlib
from typing import cast

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.services.facts.uploads import receive_upload, refuse_unreadable
from precast.services.identity import certificates
from precast.store.engine.compression import compress, decompress
from precast.store.facts.facts import Facts
from precast.store.facts.volatile_parts import read_volatile_part
from precast.wire import sessions
from precast.wire.facts import FactUpload, make_upload
from precast.wire.identity import tokens
from tests.fuzz.target import FuzzTarget

STORED = canonical.encode({"os": {"family": "Debian"}, "n": 1, "list": [1, 2.5, None, "ü"]})


def check_frame(data: bytes) -> None:
    """A frame is refused by a declared error, or is a message that keeps its meaning when it is encoded again."""
    for decode in (sessions.decode_from_node, sessions.decode_from_server):
        try:
            message = decode(data)
        except (ValueError, RecursionError):
            continue
        assert decode(sessions.encode(message)) == message


def check_facts(data: bytes) -> None:
    """An upload is refused by a declared error, or is stored as a bounded JSON mapping with the digest that it names."""
    try:
        upload = msgspec.json.decode(data, type=FactUpload)
        refuse_unreadable("web1", upload)
        received = receive_upload(cast(Facts, _StoredFacts()), "web1", upload)
    except (ValueError, RecursionError, PrecastError):
        return
    canonical.decode_mapping(read_volatile_part("web1", received.volatile))
    if received.stable:
        stable = decompress(received.stable)
        assert len(stable) <= sessions.MAX_FRAME_BYTES
        if received.stable_json is None:
            canonical.decode_mapping(stable)


class _StoredFacts:
    """The stored set that uploads are compared with."""

    def read_stable_immediately(self, _: str) -> tuple[str, bytes]:
        return "0" * 64, compress(STORED)


def check_token(data: bytes) -> None:
    """A text is refused without repeating it, or is the one text of its token."""
    text = data.decode("utf-8", "surrogateescape")
    for parse in (tokens.parse_enrolment, tokens.parse_person):
        try:
            token = parse(text)
        except PrecastError as error:
            refusal = str(error)
        else:
            assert str(token) == text.strip()
            continue
        assert len(text) < 12 or text not in refusal, "an error repeats a secret"


def check_request(data: bytes) -> None:
    """A certificate request is refused by a declared error, or has a valid signature and one name."""
    try:
        request = certificates.read_request(data.decode("utf-8", "surrogateescape"))
    except PrecastError:
        return
    assert request.is_signature_valid
    assert certificates.common_name(request)


def _make_request() -> bytes:
    key = ec.derive_private_key(4711, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web1.example.org")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def _fact_seeds() -> tuple[bytes, ...]:
    upload = make_upload({"os": {"family": "Debian"}, "n": 2}, {"uptime": 5})
    packed = FactUpload(upload.digest, msgspec.Raw(b"{}"), packed=zlib.compress(bytes(cast(bytes, upload.stable))))
    return msgspec.json.encode(upload), msgspec.json.encode(upload.without_stable()), msgspec.json.encode(packed)


_ID = "0193c9e0-0000-7000-8000-000000000000"
_SECRET = "A" * 43
TARGETS = {
    "frames": FuzzTarget(
        check_frame,
        (
            b'{"type":"hello","versions":[1],"instance":"a","attempts":["b"],"boot_id":"c","agent":"1.0","first":1,"last":3}',
            b'{"type":"record","number":1,"kind":"facts","version":1,"body":{"digest":"","volatile":{}}}',
            b'{"type":"ack","number":7}',
            b'{"type":"welcome","version":1,"epoch":1,"server":"s","received":0,"heartbeat_s":30,"cycle_s":60,"horizon_s":9}',
        ),
        ("precast.wire.sessions",),
    ),
    "facts": FuzzTarget(
        check_facts,
        _fact_seeds(),
        (
            "precast.services.facts",
            "precast.base.canonical",
            "precast.store.facts.volatile_parts",
            "precast.store.engine",
        ),
    ),
    "tokens": FuzzTarget(
        check_token,
        (f"pce1.{_ID}.{_SECRET}.{'0' * 64}".encode(), f"pcu1.{_ID}.{_SECRET}".encode()),
        ("precast.wire.identity.tokens",),
    ),
    "requests": FuzzTarget(check_request, (_make_request(),), ("precast.services.identity.certificates",)),
}
