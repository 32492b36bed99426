"""Maintenance windows, and their bindings to nodes and actions."""

from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

PUT = Query(
    "windows.put",
    """
    INSERT INTO maintenance_window
        (name, kind, is_blackout, source, zone, digest, made_by, made_at, changed_by, changed_at)
    VALUES (:name, :kind, :is_blackout, :source, :zone, :digest, :actor, :now, :actor, :now)
    ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, is_blackout = excluded.is_blackout,
        source = excluded.source, zone = excluded.zone, digest = excluded.digest, changed_by = excluded.changed_by,
        changed_at = excluded.changed_at
    """,
)
LIST = Query(
    "windows.list",
    """
    SELECT name, kind, is_blackout, zone, digest, made_by, made_at, changed_by, changed_at,
        (SELECT count(*) FROM window_binding WHERE window_binding.name = maintenance_window.name)
    FROM maintenance_window ORDER BY name LIMIT :limit
    """,
)
FIND = Query(
    "windows.find",
    """
    SELECT name, kind, is_blackout, zone, digest, made_by, made_at, changed_by, changed_at,
        (SELECT count(*) FROM window_binding WHERE window_binding.name = maintenance_window.name)
    FROM maintenance_window WHERE name = :name
    """,
)
SOURCE = Query("windows.source", "SELECT source FROM maintenance_window WHERE name = :name AND digest = :digest")
DELETE = Query("windows.delete", "DELETE FROM maintenance_window WHERE name = :name")
BIND = Query(
    "windows.bind",
    """
    INSERT INTO window_binding (name, target, classes, at_close, bound_by, bound_at)
    VALUES (:name, :target, :classes, :at_close, :actor, :now)
    ON CONFLICT (name, target) DO UPDATE SET classes = excluded.classes, at_close = excluded.at_close,
        bound_by = excluded.bound_by, bound_at = excluded.bound_at
    """,
)
UNBIND = Query(
    "windows.unbind",
    """
    DELETE FROM window_binding WHERE name = :name AND target = :target
    RETURNING name, target, classes, at_close, bound_by, bound_at
    """,
)
BINDINGS = Query(
    "windows.bindings",
    """
    SELECT name, target, classes, at_close, bound_by, bound_at FROM window_binding
    ORDER BY name, target LIMIT :limit
    """,
)


class StoredWindow(msgspec.Struct, frozen=True):
    """A window without its source. The digest changes with what decides when it is open."""

    name: str
    kind: str
    is_blackout: bool
    zone: str
    digest: str
    made_by: str
    made_at: datetime
    changed_by: str
    changed_at: datetime
    bindings: int


class StoredBinding(msgspec.Struct, frozen=True):
    """A window that is bound to the nodes of a target, for classes of actions."""

    window: str
    target: str
    classes: list[str]
    at_close: str
    bound_by: str
    bound_at: datetime


class Windows:
    """The windows of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, name: str, kind: str, source: str, zone: str, digest: str, actor: str, *, is_blackout: bool
    ) -> Transaction[None]:
        """Store a window, or replace the one with this name; its bindings stay."""
        yield PUT(
            name=name,
            kind=kind,
            is_blackout=int(is_blackout),
            source=source,
            zone=zone,
            digest=digest,
            actor=actor,
            now=self._now(),
        )

    def list_all(self, limit: int) -> Transaction[list[StoredWindow]]:
        """List windows by name."""
        return [_window(row) for row in (yield LIST(limit=limit))]

    def find(self, name: str) -> Transaction[StoredWindow | None]:
        for row in (yield FIND(name=name)):
            return _window(row)
        return None

    def read_source(self, name: str, digest: str) -> Transaction[str | None]:
        """Read the source of a window; None if the window is deleted, or has another digest now."""
        for (source,) in (yield SOURCE(name=name, digest=digest)):
            return str(source)
        return None

    def delete(self, name: str) -> Transaction[None]:
        """Delete a window that has no binding."""
        yield DELETE(name=name)

    def bind(self, name: str, target: str, classes: list[str], at_close: str, actor: str) -> Transaction[None]:
        """Bind a window to the nodes of a target, or replace the binding to exactly this target."""
        encoded = msgspec.json.encode(classes).decode()
        yield BIND(name=name, target=target, classes=encoded, at_close=at_close, actor=actor, now=self._now())

    def unbind(self, name: str, target: str) -> Transaction[StoredBinding | None]:
        """Delete a binding and return it; None if there is none to this target."""
        for row in (yield UNBIND(name=name, target=target)):
            return _binding(row)
        return None

    def list_bindings(self, limit: int) -> Transaction[list[StoredBinding]]:
        """List the bindings of all windows, by window and target."""
        return [_binding(row) for row in (yield BINDINGS(limit=limit))]

    def _now(self) -> int:
        return to_micros(self._database.clock.now())


def _window(row: tuple[str, str, int, str, str, str, int, str, int, int]) -> StoredWindow:
    name, kind, is_blackout, zone, digest, made_by, made_at, changed_by, changed_at, bindings = row
    times = (made_by, from_micros(made_at), changed_by, from_micros(changed_at))
    return StoredWindow(name, kind, bool(is_blackout), zone, digest, *times, bindings)


def _binding(row: tuple[str, str, str, str, str, int]) -> StoredBinding:
    name, target, classes, at_close, bound_by, bound_at = row
    decoded = msgspec.json.decode(classes, type=list[str])
    return StoredBinding(name, target, decoded, at_close, bound_by, from_micros(bound_at))
