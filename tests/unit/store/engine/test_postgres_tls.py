"""Which locations are on this machine, by their text alone, and what a weak one leaves open."""

from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.store.engine.location import PostgresLocation
from precast.store.engine.postgres_tls import describe, find_weakness, is_local, make_context


@pytest.mark.parametrize(
    "rest",
    [
        "/precast",
        "me@/precast?host=/run/postgresql",
        "me@%2Frun%2Fpostgresql/precast",
        "me:secret@localhost/precast",
        "127.0.0.1:5433/precast",
        "127.9.9.9/precast",
        "[::1]:5432/precast",
        "/precast?host=::1",
        "localhost,127.0.0.1:5433/precast",
    ],
)
def test_sockets_and_loopback_are_local(rest: str) -> None:
    location = PostgresLocation(f"postgresql://{rest}")
    assert is_local(location, {})
    assert make_context(location, {}) is None
    assert describe(location, {}) == "the database is on this machine"


@pytest.mark.parametrize(
    ("rest", "environment"),
    [
        ("db.example.org/precast", {}),
        ("localhost.example.org/precast", {}),
        ("10.0.0.1/precast", {}),
        ("0.0.0.0/precast", {}),
        ("[fe80::1]/precast", {}),
        ("localhost,db.example.org/precast", {}),
        ("/precast?host=db.example.org", {}),
        ("/precast?host=fe80::1", {}),
        ("me:127.0.0.1@db.example.org/precast", {}),
        ("/precast", {"PGHOST": "db.example.org"}),
        ("/precast", {"PGSERVICE": "main"}),
        ("/precast?service=main", {}),
    ],
)
def test_everything_else_is_another_machine(rest: str, environment: dict[str, str]) -> None:
    location = PostgresLocation(f"postgresql://{rest}")
    assert not is_local(location, environment)
    context = make_context(location, environment)
    assert context is not None
    assert context.check_hostname
    assert find_weakness(location, environment) == ""


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
def test_weaker_mode_is_a_weakness_of_another_machine_only(mode: str) -> None:
    assert f"sslmode={mode}" in find_weakness(PostgresLocation(f"postgresql://db/precast?sslmode={mode}"), {})
    assert find_weakness(PostgresLocation(f"postgresql://localhost/precast?sslmode={mode}"), {}) == ""


@pytest.mark.parametrize("mode", ["verify_full", "VERIFY-FULL", "nonsense"])
@pytest.mark.parametrize("host", ["db", "localhost"])
def test_mode_that_does_not_exist_is_refused(mode: str, host: str) -> None:
    location = PostgresLocation(f"postgresql://{host}/precast?sslmode={mode}")
    with pytest.raises(PrecastError, match="is not a value of sslmode") as told:
        find_weakness(location, {})
    assert told.value.code == "STORE-018"


def test_full_verification_can_be_asked_for_on_this_machine() -> None:
    context = make_context(PostgresLocation("postgresql://localhost/precast?sslmode=verify-full"), {})
    assert context is not None
    assert context.check_hostname


def test_authority_is_that_of_the_location_or_of_the_drivers_variable(tmp_path: Path) -> None:
    location = PostgresLocation("postgresql://db/precast?sslrootcert=system")
    context = make_context(location, {"PGSSLROOTCERT": str(tmp_path / "absent")})
    assert context is not None
