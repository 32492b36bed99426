"""ssl_pkey, x509_cert and x509_request with the real openssl."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.resources import registry
from precast.resources.contract import CommandResult, DesiredResource, Handler

TEMPLATE = "[req]\nprompt = no\ndistinguished_name = dn\n[dn]\nCN = here\n[req_ext]\nsubjectAltName = DNS:there\n"

pytestmark = pytest.mark.needs("openssl")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.cnf").write_text(TEMPLATE)
    apply(make(tmp_path, "ssl_pkey", "a.key", size=1024))
    return tmp_path


def make(place: Path, type_name: str, title: str, **given: Any) -> Handler:
    kind = registry.find(type_name)
    assert kind is not None
    node = Machine("", str(place / "state"), ManualClock())
    return kind(DesiredResource(type_name, str(place / title), {"ensure": "present", **given}), node)


def apply(made: Handler) -> list[str]:
    changes = made.compare(made.read())
    for change in changes:
        made.apply(change)
    return [change.message for change in changes]


def test_key_is_made_once_for_root_alone(place: Path) -> None:
    data = (place / "a.key").read_bytes()
    assert data.startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    assert (place / "a.key").stat().st_mode & 0o777 == 0o600
    assert apply(make(place, "ssl_pkey", "a.key", size=1024)) == []
    assert apply(make(place, "ssl_pkey", "b.key", password="geheim")) == ["created"]
    key = serialization.load_pem_private_key((place / "b.key").read_bytes(), b"geheim")
    assert isinstance(key.key_size, int)  # type: ignore[union-attr]
    assert apply(make(place, "ssl_pkey", "b.key", ensure="absent")) == ["removed"]
    assert not (place / "b.key").exists()


def test_extensions_are_left_out_by_an_explicit_false(place: Path) -> None:
    apply(make(place, "x509_cert", "a.crt", req_ext=False))
    assert not list(x509.load_pem_x509_certificate((place / "a.crt").read_bytes()).extensions)


def test_dsa_key_is_made(place: Path) -> None:
    apply(make(place, "ssl_pkey", "d.key", authentication="dsa", size=1024))
    assert (place / "d.key").read_bytes().startswith(b"-----BEGIN DSA PRIVATE KEY-----")


def test_certificate_is_made_once_and_again_for_another_key(place: Path) -> None:
    assert apply(make(place, "x509_cert", "a.crt", days=5)) == ["created"]
    certificate = x509.load_pem_x509_certificate((place / "a.crt").read_bytes())
    assert certificate.subject.rfc4514_string() == "CN=here"
    assert (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days == 5
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["there"]
    assert apply(make(place, "x509_cert", "a.crt")) == []
    apply(make(place, "ssl_pkey", "new.key", size=1024))
    other = {"private_key": str(place / "new.key")}
    assert apply(make(place, "x509_cert", "a.crt", **other)) == []
    again = {**other, "force": True}
    assert apply(make(place, "x509_cert", "a.crt", **again)) == ["created"]
    assert apply(make(place, "x509_cert", "a.crt", **again)) == []


def test_request_is_made_with_a_key_that_has_a_password(place: Path) -> None:
    apply(make(place, "ssl_pkey", "b.key", password="geheim"))
    given = {"force": True, "private_key": str(place / "b.key"), "template": str(place / "a.cnf"), "password": "geheim"}
    assert apply(make(place, "x509_request", "b.csr", **given)) == ["created"]
    assert x509.load_pem_x509_csr((place / "b.csr").read_bytes()).is_signature_valid
    assert apply(make(place, "x509_request", "b.csr", **given)) == []
    with pytest.raises(InputError, match="cannot compare"):
        make(place, "x509_request", "b.csr", **{**given, "password": "wrong"}).read()


def test_password_is_on_no_command_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(make(place, "ssl_pkey", "b.key", password="geheim"))
    seen: list[Sequence[str]] = []
    made = make(place, "x509_cert", "b.crt", template=str(place / "a.cnf"), password="geheim")
    run = made.node.run

    def record(argv: Sequence[str], **options: Any) -> CommandResult:
        seen.append(argv)
        return run(argv, **options)

    monkeypatch.setattr(made.node, "run", record)
    apply(made)
    assert seen
    assert not any("geheim" in word for argv in seen for word in argv)


def test_missing_files_are_named(place: Path) -> None:
    for given, name in (
        ({"private_key": str(place / "no.key")}, "no.key"),
        ({"template": str(place / "no.cnf")}, "no.cnf"),
    ):
        with pytest.raises(NotFoundError, match=name):
            apply(make(place, "x509_cert", "a.crt", **given))
    assert not (place / "a.crt").exists()


def test_broken_template_shows_what_openssl_said(place: Path) -> None:
    (place / "a.cnf").write_text("nonsense\n")
    with pytest.raises(UnavailableError, match="openssl req"):
        apply(make(place, "x509_cert", "a.crt"))


@pytest.mark.parametrize("given", [{"size": 512}, {"size": "big"}, {"authentication": "ecdsa"}])
def test_invalid_keys_fail_when_they_are_made(place: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        make(place, "ssl_pkey", "x.key", **given)


def test_key_matches_the_certificate_by_openssl(place: Path) -> None:
    apply(make(place, "x509_cert", "a.crt"))
    texts = [
        subprocess.run(["openssl", *words], capture_output=True, text=True, check=True, cwd=place).stdout
        for words in (["x509", "-in", "a.crt", "-noout", "-pubkey"], ["rsa", "-in", "a.key", "-pubout"])
    ]
    assert texts[0] == texts[1]
