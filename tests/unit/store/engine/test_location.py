"""Locations: which texts name a database, and that a password is never shown."""

from pathlib import Path

import pytest

from precast.base.errors import InputError
from precast.store.engine.location import PostgresLocation, SqliteLocation, parse

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("precast.db", "precast.db"),
        ("/var/lib/precast/precast.db", "/var/lib/precast/precast.db"),
        ("./with space", "with space"),
        ("odd:name", "odd:name"),
        ("sqlite:///srv/precast.db", "/srv/precast.db"),
        ("sqlite://here.db", "here.db"),
        ("sqlite:here.db", "here.db"),
        ("sqlite:///srv/50%25.db", "/srv/50%.db"),
        ("/srv/50%25.db", "/srv/50%25.db"),
    ],
)
def test_parse_of_a_file_gives_its_path(text: str, path: str) -> None:
    assert parse(text) == SqliteLocation(Path(path))
    assert str(parse(text)) == path


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://db.example/precast",
        "postgres://precast@db.example:5433/precast",
        "postgresql://precast@/precast?host=/run/postgresql",
        "postgresql://precast@one:5432,two:5433/precast?target_session_attrs=read-write",
        "postgresql://[::1]:5432/precast",
        "postgresql:///precast",
    ],
)
def test_parse_of_a_server_keeps_the_address_unchanged(text: str) -> None:
    assert parse(text) == PostgresLocation(text)
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"postgresql://me:{SECRET}@db/precast", "postgresql://me@db/precast"),
        (f"postgresql://:{SECRET}@db/precast", "postgresql://db/precast"),
        (f"postgresql://me:a@{SECRET}@db/precast", "postgresql://me@db/precast"),
        (f"postgresql://me:{SECRET}@one,two:5433/precast", "postgresql://me@one,two:5433/precast"),
        (f"postgresql://db/precast?user=me&password={SECRET}", "postgresql://db/precast?user=me"),
        (f"postgresql://db/precast?PASSWORD={SECRET}&sslmode=require", "postgresql://db/precast?sslmode=require"),
        (f"postgresql://db/precast?sslpassword={SECRET}", "postgresql://db/precast"),
        (f"postgresql://db/precast?passwrod={SECRET}", "postgresql://db/precast"),
    ],
)
def test_location_with_a_password_is_shown_without(text: str, shown: str) -> None:
    where = parse(text)
    assert where == PostgresLocation(text)
    assert str(where) == f"{where}" == shown
    assert SECRET not in repr(where)


@pytest.mark.parametrize(
    "text",
    [
        # A password with a character that ends the host part: the rest would be shown as host, name or query.
        f"postgresql://me:12/{SECRET}@db/precast",
        f"postgresql://me:{SECRET}/34@db/precast",
        f"postgresql://me:12?{SECRET}@db/precast",
        f"postgresql://me:12#{SECRET}@db/precast",
        f"postgresql://me:[{SECRET}@db/precast",
        f"postgresql://me:{SECRET}",
        # Nearly a URL: not a file name either.
        f"postgresql:me:{SECRET}@db/precast",
        f"postgres:/me:{SECRET}@db/precast",
        f"postgres:/{SECRET}",
        f"PostgreSQL://me:{SECRET}@db/precast",
        f"mysql://me:{SECRET}@db/precast",
        # A form that psql accepts.
        f"host=db user=me password={SECRET}",
        f"password = '{SECRET}' host=db",
    ],
)
def test_parse_of_a_bad_address_never_repeats_the_password(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == "STORE-001"
    assert SECRET not in caught.value.render()


@pytest.mark.parametrize(
    "text", ["", "directory/", "sqlite:", "sqlite://", "sqlite:///", "sqlite:///srv/", "a\0b", "sqlite:a%00b"]
)
def test_parse_of_an_invalid_path_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="does not name a database") as caught:
        parse(text)
    assert caught.value.code == "STORE-001"
    assert "\n" not in caught.value.message
