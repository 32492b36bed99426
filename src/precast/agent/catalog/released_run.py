"""What every run of a catalog of this node has in common: its release is verified and noted, and its report begins with the same facts.

`precast agent apply` and the tasks of plans start such runs, each in its own way.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from precast.agent.applying.run import RunRequest, state_root
from precast.agent.catalog.cached_release import AppliedRelease, applied_sequence
from precast.agent.catalog.filled_catalog import why_withheld
from precast.agent.catalog.staleness import Staleness, read_staleness
from precast.agent.identity.credentials import Credentials
from precast.agent.settings import AgentSettings
from precast.agent.state.spool import SpoolLimits
from precast.agent.state.status_notes import CatalogRunNote, FetchNote
from precast.agent.state.store import LocalStore, put_note
from precast.base.ids import TimeOrderedIds
from precast.wire.reports.events import Summary
from precast.wire.reports.records import Reason, RunBegan

if TYPE_CHECKING:
    from precast.agent.applying.reporting.reporter import Reporter
    from precast.wire.catalogs.release_pointer import ReleasePointer


def check_release(root: Path, catalog: bytes, life: str | None) -> "ReleasePointer | None":
    """Verify that the cached catalog is the one released to this node, before anything of it is read.

    None on a machine that is not enrolled: there, a person has written the catalog. Raises DeniedError AGENT-019.
    """
    if not Credentials(root).certificate.exists():
        return None
    from precast.agent.catalog.release_check import check_cached_catalog

    store = LocalStore.open(state_root(root), lambda: os.urandom(16).hex(), life=life)
    try:
        return check_cached_catalog(root, catalog, applied_sequence(store))
    finally:
        store.close()


def find_withheld(root: Path, life: str | None, settings: AgentSettings) -> str:
    """Why a run may not use the secrets of the released catalog now; empty if it may."""
    store = LocalStore.open(state_root(root), lambda: os.urandom(16).hex(), life=life)
    try:
        return why_withheld(store, settings)
    finally:
        store.close()


def begin_release(store: LocalStore, pointer: "ReleasePointer | None") -> None:
    """Note under the run's lease which release is applied. Raises DeniedError AGENT-019 if another run has applied a newer one."""
    if pointer is not None:
        from precast.agent.catalog.release_check import check_sequence

        check_sequence(pointer, applied_sequence(store))
        store.write_note(AppliedRelease(pointer.sequence, pointer.digest))


def make_reporter(
    root: Path,
    settings: AgentSettings,
    life: str | None,
    describe: Callable[[LocalStore], RunBegan],
    noop_reason: str = "",
) -> "Reporter | None":
    """The reporter of a run; None on a machine that is not enrolled. `noop_reason` says why a run that was to enforce is a no-op."""
    from precast.agent.applying.reporting.reporter import Reporter

    if not Credentials(root).certificate.exists():
        return None
    directory, limits = state_root(root), SpoolLimits(settings.spool_records, settings.spool_bytes)
    return Reporter(
        describe, limits, lambda: LocalStore.open(directory, lambda: os.urandom(16).hex(), life=life), noop_reason
    )


def describe_run(store: LocalStore, request: RunRequest, *, is_noop: bool, reason: Reason, order: str = "") -> RunBegan:
    """The first record of a run. It names the release and the environment only if the catalog is the one that was fetched last."""
    fetched, fresh = store.read_note(FetchNote), read_staleness(store)
    if fetched is None or fetched.digest != request.version:
        fetched, fresh = FetchNote(), Staleness()
    return RunBegan(
        report=TimeOrderedIds(store.clock).new(),
        mode="noop" if is_noop else "enforce",
        reason=reason,
        began_at=store.clock.now(),
        catalog=request.version[:256],
        release=fetched.release,
        environment=fetched.environment,
        version=fetched.version,
        resources=len(request.body.resources),
        order=order,
        is_stale=fresh.is_stale,
        stale_since=fresh.since,
        stale_why=fresh.why[:2000],
    )


def note_whole_run(store: LocalStore, db: sqlite3.Connection, digest: str, reason: str, summary: Summary) -> None:
    """Note for the daemon that a run of the whole cached catalog has come to its end."""
    before, now = store.read_note(CatalogRunNote), store.clock.now()
    enforced_at = before.enforced_at if summary.is_noop and before is not None else None
    if not summary.is_noop:
        enforced_at = now
    put_note(db, CatalogRunNote(digest, now, summary.is_noop, reason, enforced_at))
