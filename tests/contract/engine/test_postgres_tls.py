"""Connections to a PostgreSQL on another machine are verified: real certificates, a real server, and a name that leads to it.

The server listens on loopback, but its clients know it by a name that says nothing of that, as they know one on another machine.
"""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab.certificates import TestAuthority
from lab.postgres import USER, PostgresServer
from precast.base.errors import UnavailableError
from precast.store.engine.connect import connect
from precast.store.engine.location import PostgresLocation
from precast.store.engine.query import Query, Transaction

PROGRAMS = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
pytestmark = pytest.mark.skipif(PROGRAMS is None, reason="no PostgreSQL with TLS is installed")

HOST = "db.example.org"
IS_ENCRYPTED = Query(
    "test.is_encrypted", "SELECT 1", postgresql="SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
)


class Site(NamedTuple):
    """Two servers, of which one has no TLS, and two authorities, of which one issued the certificate."""

    port: int
    plain_port: int
    authority: Path
    stranger: Path

    def location(self, host: str = HOST, *, port: int = 0, **parameters: object) -> PostgresLocation:
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return PostgresLocation(f"postgresql://{USER}@{host}:{port or self.port}/postgres?{query}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("tls")
    authority = TestAuthority(directory / "ours")
    certificate, key = authority.issue(HOST)
    settings = {"ssl": "on", "ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
    port, plain_port = free_port(), free_port()
    with (
        PostgresServer(settings=settings, programs=PROGRAMS, tcp_port=port, is_in_memory=True),
        PostgresServer(programs=PROGRAMS, tcp_port=plain_port, is_in_memory=True),
    ):
        yield Site(port, plain_port, authority.certificate, TestAuthority(directory / "theirs").certificate)


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name of example.org leads to loopback, as if it were the address of another machine."""
    resolve = socket.getaddrinfo

    def found(host: Any, *words: Any, **named: Any) -> Any:
        return resolve("127.0.0.1" if str(host).endswith("example.org") else host, *words, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    for name in ("PGHOST", "PGSSLMODE", "PGSSLROOTCERT", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


def read_encrypted() -> Transaction[bool]:
    ((is_encrypted,),) = yield IS_ENCRYPTED()
    return bool(is_encrypted)


async def is_encrypted(location: PostgresLocation) -> bool:
    database = await connect(location)
    try:
        return await database.read(read_encrypted)
    finally:
        await database.close()


async def refusal(location: PostgresLocation) -> str:
    with pytest.raises(UnavailableError) as caught:
        await connect(location)
    assert caught.value.code == "STORE-017"
    return caught.value.message


async def test_server_with_a_certificate_of_a_trusted_authority_is_used(site: Site) -> None:
    assert await is_encrypted(site.location(sslrootcert=site.authority))


async def test_unknown_authority_is_refused_without_any_sslmode(site: Site) -> None:
    """The attack: a machine in between answers with a certificate of another authority, even one of the same name."""
    assert "unable to get local issuer certificate" in await refusal(site.location())
    assert "certificate signature failure" in await refusal(site.location(sslrootcert=site.stranger))


async def test_certificate_for_another_name_is_refused(site: Site) -> None:
    message = await refusal(site.location("other.example.org", sslrootcert=site.authority))
    assert "Hostname mismatch" in message


async def test_server_without_tls_is_refused(site: Site) -> None:
    """The attack: a machine in between says that it has no TLS, and gets everything in clear text."""
    location = site.location(port=site.plain_port, sslrootcert=site.authority)
    assert (await refusal(location)).endswith("the server does not offer TLS")


async def test_missing_file_of_the_authority_is_an_error(site: Site, tmp_path: Path) -> None:
    message = await refusal(site.location(sslrootcert=tmp_path / "none.pem"))
    assert message.endswith("cannot use the certificates that it names: No such file or directory")


async def test_variable_of_the_driver_does_not_weaken_a_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "prefer")
    assert "unable to get local issuer certificate" in await refusal(site.location())


@pytest.mark.parametrize(
    ("mode", "encrypted", "weakness"),
    [
        ("require", True, "does not verify the server"),
        ("disable", False, "does not encrypt the connection"),
    ],
)
async def test_weaker_mode_must_be_written_and_is_reported_in_one_line(
    site: Site, caplog: pytest.LogCaptureFixture, mode: str, encrypted: bool, weakness: str
) -> None:
    with caplog.at_level(logging.WARNING, "precast.store"):
        assert await is_encrypted(site.location(sslmode=mode)) is encrypted
    (line,) = [record.getMessage() for record in caplog.records if record.name == "precast.store"]
    assert line.endswith(f"is not protected: sslmode={mode} {weakness}: use sslmode=verify-full")
    assert HOST in line


async def test_authority_may_be_verified_without_the_name(site: Site) -> None:
    location = site.location("other.example.org", sslmode="verify-ca", sslrootcert=site.authority)
    assert await is_encrypted(location)


async def test_loopback_needs_no_certificate(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "precast.store"):
        assert not await is_encrypted(site.location("127.0.0.1", port=site.plain_port))
    assert caplog.records == []
