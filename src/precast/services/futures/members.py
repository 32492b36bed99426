"""What the members of a job promise: written with their attempts, from the catalogs that they will apply.

A member that promises a key which nobody fulfils yet makes the other members wait for it. So a run that will fulfil nothing, because it
is a no-op, promises nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from precast.base.spans import visible
from precast.store.engine.query import Transaction
from precast.store.futures import job_promises, waits
from precast.store.futures.catalog_futures import NodeCatalog, list_catalogs, list_pinned, list_promises
from precast.store.futures.job_promises import AttemptName, NewPromise

RERUN, FAIL, KEEP = "rerun", "fail", "keep"


class Round(NamedTuple):
    """A round of a job with one task, whose members apply their served or staged catalogs. `away` says why members are skipped."""

    job: str
    task: int
    n: int
    going: Sequence[str]
    away: Mapping[str, str] = {}
    is_staged: bool = False


def add_members(members: Round, now: datetime) -> Transaction[None]:
    """Store what the members of a round promise. Those that are skipped at once have failed already."""
    catalogs = yield from list_catalogs([*members.going, *members.away], staged=members.is_staged)
    if catalogs:
        applied = [(AttemptName(members.job, members.task, each.node, members.n), each) for each in catalogs]
        yield from _add(applied, members.away, now)


def add_plan_members(job: str, n: int, applied: Iterable[tuple[int, str, str]], now: datetime) -> Transaction[None]:
    """Store what steps of a plan promise: each by task, node and the digest of the catalog that it applies."""
    steps = sorted(set(applied))
    found = yield from list_pinned(job, [(node, digest) for _, node, digest in steps])
    known = [
        (AttemptName(job, task, node, n), catalog)
        for task, node, digest in steps
        if (catalog := found.get((node, digest))) is not None
    ]
    if known:
        yield from _add(known, {}, now)


def refresh_members(members: Round, now: datetime) -> Transaction[None]:
    """Store what members promise that were just released their catalogs: it may be something else than was staged before."""
    catalogs = yield from list_catalogs(members.going)
    by_node = {each.node: each for each in catalogs}
    promised = yield from list_promises({each.document for each in catalogs})
    before = yield from job_promises.list_pending(members.job, members.going)
    wanted = {(node, key) for node, each in by_node.items() for key in promised.get(each.document, ())}
    known = {(attempt.node, key) for attempt, key in before}
    why = "its released catalog does not promise it"
    gone = [(attempt, key, why) for attempt, key in before if (attempt.node, key) not in wanted]
    if gone:
        yield from job_promises.fail(gone, now)
    applied = [(AttemptName(members.job, members.task, node, members.n), each) for node, each in by_node.items()]
    if applied:
        yield from _add(applied, {}, now, known)


def find_stale_consumers(job: str, producers: Iterable[str]) -> Transaction[list[tuple[str, str]]]:
    """The members that were given values of these producers, which will promise again; each with the reason."""
    again = set(producers)
    found: dict[str, str] = {}
    for node, key, producer in (yield from waits.list_consumers(job)):
        if producer in again and node not in again:
            found.setdefault(node, f"it was given {visible(key)} by {producer}, which promises it again")
    return sorted(found.items())


def _add(
    applied: Sequence[tuple[AttemptName, NodeCatalog]],
    away: Mapping[str, str],
    now: datetime,
    known: "set[tuple[str, str]] | frozenset[tuple[str, str]]" = frozenset(),
) -> Transaction[None]:
    promised = yield from list_promises({catalog.document for _, catalog in applied})
    new = [
        NewPromise(attempt, catalog.environment, key, _why_away(away.get(attempt.node)))
        for attempt, catalog in applied
        for key in promised.get(catalog.document, ())
        if (attempt.node, key) not in known
    ]
    yield from job_promises.add_promises(new, [attempt for attempt, _ in applied if attempt.node not in away], now)


def _why_away(reason: str | None) -> str:
    return "" if reason is None else f"it was skipped: {reason}"
