"""Windows as operators define them: created, imported, replaced, bound, unbound and removed. Every change is audited."""

import asyncio
from typing import cast

from precast.services import texts
from precast.services.windows import issues
from precast.services.windows.bound_nodes import BoundNodes
from precast.services.windows.expansion import AFTER, BEFORE, digest_of, expand
from precast.services.windows.openings import HORIZON, MAX_BINDINGS, MAX_WINDOWS, WindowService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.windows.windows import StoredBinding, StoredWindow, Windows
from precast.wire.identity.names import is_name
from precast.wire.query.parser import parse
from precast.wire.query.targets import rests_on_claims
from precast.wire.windows.bodies import (
    ALL_CLASSES,
    AtClose,
    BindingBody,
    BindingRow,
    BindingView,
    WindowBody,
    WindowKind,
    WindowRow,
    WindowView,
)
from precast.wire.windows.intervals import Interval
from precast.wire.windows.rules import parse_rule

MAX_RULES = 100
# How many of the next intervals are shown.
SHOWN = 10


class WindowDefinitions:
    """Stores windows and bindings; holds no state between calls."""

    def __init__(
        self, database: Database, windows: Windows, openings: WindowService, nodes: BoundNodes, audit: AuditLog
    ) -> None:
        self._database, self._windows, self._openings = database, windows, openings
        self._nodes, self._audit = nodes, audit

    async def list_windows(self) -> list[WindowRow]:
        """List all windows by name, each with its next interval within a year."""
        windows = await self._database.read(self._windows.list_all, MAX_WINDOWS)
        return [_row(window, await self._next_intervals(window)) for window in windows]

    async def show(self, name: str) -> WindowView:
        """Show a window. Raises NotFoundError WINDOW-002."""
        window, source, bindings = await self._database.read(self._show, name)
        intervals = await self._next_intervals(window)
        views = [await self._view(binding) for binding in bindings]
        return WindowView(_row(window, intervals), source, views, intervals)

    async def put(self, name: str, body: WindowBody, actor: str) -> WindowRow:
        """Store a window, or replace the one with this name; its bindings stay.

        Raises InputError WINDOW-001, WINDOW-004, WINDOW-005, POLICY-001, CRON-002. Cancelling is safe.
        """
        if not is_name(name):
            raise issues.BAD_WINDOW_NAME.error(name=name[:80])
        texts.check("the reason", body.why)
        kind, source = _parse_body(body)
        now = self._database.clock.now()
        # A window that cannot be expanded for a year is refused now, and not when an action waits for it.
        await asyncio.to_thread(expand, kind, source, body.zone, now - BEFORE, now + HORIZON + 2 * AFTER)
        await self._database.write(self._put, name, kind, source, body, actor)
        window, _, _ = await self._database.read(self._show, name)
        return _row(window, await self._next_intervals(window))

    async def remove(self, name: str, actor: str, why: str = "") -> WindowRow:
        """Remove a window. Raises NotFoundError WINDOW-002, ConflictError WINDOW-003 while it is bound."""
        texts.check("the reason", why)
        return _row(await self._database.write(self._remove, name, actor, why), [])

    async def bind(self, name: str, body: BindingBody, actor: str) -> BindingView:
        """Bind a window to the nodes of a target, or replace the binding to exactly this target.

        Raises NotFoundError WINDOW-002, InputError WINDOW-005, and for an invalid target.
        """
        texts.check("the reason", body.why)
        texts.check("the target", body.target)
        parse(body.target)
        if not body.classes:
            raise issues.BAD_WINDOW.error(reason="the binding names no class of actions")
        return await self._view(await self._database.write(self._bind, name, body, actor))

    async def unbind(self, name: str, target: str, actor: str, why: str = "") -> BindingRow:
        """Remove a binding. Raises NotFoundError WINDOW-002, WINDOW-006."""
        texts.check("the reason", why)
        texts.check("the target", target)
        return _binding_row(await self._database.write(self._unbind, name, target, actor, why))

    async def _next_intervals(self, window: StoredWindow) -> list[Interval]:
        now = self._database.clock.now()
        return (await self._openings.expand(window, now, now + HORIZON))[:SHOWN]

    async def _view(self, binding: StoredBinding) -> BindingView:
        is_claim = rests_on_claims(parse(binding.target))
        return BindingView(_binding_row(binding), await self._nodes.count(binding.target), is_claim)

    def _show(self, name: str) -> Transaction[tuple[StoredWindow, str, list[StoredBinding]]]:
        window = yield from self._find(name)
        source = yield from self._windows.read_source(name, window.digest)
        bindings = yield from self._windows.list_bindings(MAX_BINDINGS)
        return window, source or "", [binding for binding in bindings if binding.window == name]

    def _find(self, name: str) -> Transaction[StoredWindow]:
        window = (yield from self._windows.find(name)) if is_name(name) else None
        if window is None:
            raise issues.NO_WINDOW.error(name=name[:80])
        return window

    def _put(self, name: str, kind: WindowKind, source: str, body: WindowBody, actor: str) -> Transaction[None]:
        known = yield from self._windows.list_all(MAX_WINDOWS)
        if len(known) >= MAX_WINDOWS and all(window.name != name for window in known):
            raise issues.BAD_WINDOW.error(reason=f"there are already {MAX_WINDOWS} windows")
        digest = digest_of(kind, source, body.zone)
        yield from self._windows.put(name, kind, source, body.zone, digest, actor, is_blackout=body.is_blackout)
        detail = {"kind": kind, "digest": digest, "zone": body.zone, "is_blackout": body.is_blackout, "why": body.why}
        yield from self._audit.add(actor, "window.set", name, **detail)

    def _remove(self, name: str, actor: str, why: str) -> Transaction[StoredWindow]:
        window = yield from self._find(name)
        if window.bindings:
            raise issues.STILL_BOUND.error(name=name, count=window.bindings)
        yield from self._windows.delete(name)
        yield from self._audit.add(actor, "window.remove", name, digest=window.digest, why=why)
        return window

    def _bind(self, name: str, body: BindingBody, actor: str) -> Transaction[StoredBinding]:
        yield from self._find(name)
        known = yield from self._windows.list_bindings(MAX_BINDINGS)
        if len(known) >= MAX_BINDINGS and (name, body.target) not in {(row.window, row.target) for row in known}:
            raise issues.BAD_WINDOW.error(reason=f"there are already {MAX_BINDINGS} bindings")
        classes: list[str] = [ALL_CLASSES] if ALL_CLASSES in body.classes else sorted(set(body.classes))
        yield from self._windows.bind(name, body.target, classes, body.at_close, actor)
        detail = {"nodes": body.target, "classes": classes, "at_close": body.at_close, "why": body.why}
        yield from self._audit.add(actor, "window.bind", name, **detail)
        return StoredBinding(name, body.target, classes, body.at_close, actor, self._database.clock.now())

    def _unbind(self, name: str, target: str, actor: str, why: str) -> Transaction[StoredBinding]:
        yield from self._find(name)
        binding = yield from self._windows.unbind(name, target)
        if binding is None:
            raise issues.NO_BINDING.error(name=name, target=target)
        yield from self._audit.add(actor, "window.unbind", name, nodes=target, classes=binding.classes, why=why)
        return binding


def _parse_body(body: WindowBody) -> tuple[WindowKind, str]:
    """Return the kind and the source of a window, rules in their canonical form. Raises InputError WINDOW-005, POLICY-001."""
    if bool(body.rules) == bool(body.calendar):
        raise issues.BAD_WINDOW.error(reason="it needs either rules or a calendar")
    if len(body.rules) > MAX_RULES:
        raise issues.BAD_WINDOW.error(reason=f"it has more than {MAX_RULES} rules")
    if "\0" in body.calendar or not body.zone.isprintable() or len(body.zone) > 64:
        raise issues.BAD_WINDOW.error(reason="its calendar or zone has invalid characters")
    if body.calendar:
        return "calendar", body.calendar
    return "rules", "\n".join(str(parse_rule(rule)) for rule in body.rules)


def _row(window: StoredWindow, intervals: list[Interval]) -> WindowRow:
    return WindowRow(
        window.name,
        cast(WindowKind, window.kind),
        window.is_blackout,
        window.zone,
        window.bindings,
        window.made_by,
        window.made_at,
        window.changed_by,
        window.changed_at,
        intervals[0] if intervals else None,
    )


def _binding_row(binding: StoredBinding) -> BindingRow:
    at_close = cast(AtClose, binding.at_close)
    return BindingRow(binding.window, binding.target, binding.classes, at_close, binding.bound_by, binding.bound_at)
