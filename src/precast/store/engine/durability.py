"""The PostgreSQL settings that durability depends on. An acknowledged write must survive a crash, so an unsafe server is refused."""

from collections.abc import Mapping

from precast.store.engine.query import Query, Row, Transaction

SETTINGS = Query(
    "durability.settings",
    """
    -- The settings this session commits with; a role or a database may have its own values.
    SELECT name, setting FROM pg_settings
    WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'synchronous_standby_names', 'server_encoding')
    ORDER BY name
    """,
)
NOW = Query(
    "durability.now",
    """
    -- The database's own clock, in microseconds: the one clock that all servers share.
    SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)
    """,
)


def read_settings() -> Transaction[list[tuple[str, str]]]:
    rows: list[Row] = list((yield SETTINGS()))
    return [(row[0], row[1]) for row in rows]


def read_now() -> Transaction[int]:
    rows = yield NOW()
    micros: int = rows[0][0]
    return micros


def list_unsafe_settings(settings: Mapping[str, str]) -> list[str]:
    """List the reasons why this server must not be used; empty if it may be used."""
    reasons = [
        f"{name} is off" for name in ("fsync", "synchronous_commit", "full_page_writes") if settings[name] == "off"
    ]
    if settings["server_encoding"] != "UTF8":
        reasons.append(f"server_encoding is {settings['server_encoding']}, not UTF8")
    return reasons


def has_synchronous_standby(settings: Mapping[str, str]) -> bool:
    return settings["synchronous_standby_names"] != ""
