"""Returners: send the reports of ended runs, and the outcomes of attempts of jobs, to a file of JSON lines or to a webhook.

Each report or attempt to be sent is a work item, created in the transaction that stores its end, so none is lost. Each returner has a
queue and a worker of its own: one that fails or hangs delays neither the others nor the records of nodes. A failed delivery is retried
with growing pauses; after the last attempt it is a dead letter, which `precast db work --dead` lists and `--requeue` retries. A receiver
may get the same twice, and recognises it by its id.
"""

import asyncio
import hashlib
import hmac
import http.client
import logging
import os
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from precast.base.errors import PrecastError
from precast.services.queue_worker import run_worker
from precast.services.reports import issues
from precast.services.reports.reports import EndedReport
from precast.services.reports.returned_attempts import ReturnedAttempts, list_ended
from precast.services.reports.views import ReportViews
from precast.store import issues as store_issues
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import StepState
from precast.store.jobs.jobs import JobRow
from precast.store.queue.kinds import Claim, ItemRequest, WorkKind
from precast.store.queue.queue import WorkQueue

log = logging.getLogger("precast.returners")

MIN_SECRET_CHARS = 20
POST_S = 15.0
LEASE_S = 60.0
AT_ONCE = 20
# Of a report with more events only so many are sent, with the number of the others.
MAX_EVENTS = 1_000

Post = Callable[[str, bytes, Mapping[str, str], float], int]


class Returner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where reports and outcomes of attempts are sent, and which: all, those with events, or those of failures."""

    file: str = ""
    url: str = ""
    secret: str = ""
    only: Literal["all", "eventful", "failed"] = "all"
    reports: bool = True
    attempts: bool = False


class ReportDocument(msgspec.Struct, frozen=True):
    """A report as receivers get it."""

    report: msgspec.Raw
    events: list[msgspec.Raw]
    events_cut: int = 0


def load_returners(path: Path) -> dict[str, Returner]:
    """The returners of a server by name. Raises InputError REPORT-004."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~stat.S_IRGRP:
            raise issues.BAD_RETURNERS.error(
                path=path, reason="other users may read or change it, and it contains secrets"
            )
        returners = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Returner])
    except OSError as error:
        raise issues.BAD_RETURNERS.error(path=path, reason=error.strerror) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise issues.BAD_RETURNERS.error(path=path, reason=error) from None
    for name, returner in returners.items():
        if problem := _find_problem(name, returner):
            raise issues.BAD_RETURNERS.error(path=path, reason=f"{name}: {problem}")
    return returners


def _find_problem(name: str, returner: Returner) -> str:
    if not name.isidentifier() or not name.islower() or len(name) > 30:
        return "its name may have only lower-case letters, digits and underscores"
    if bool(returner.file) is bool(returner.url):
        return "exactly one of file and url is needed"
    if not (returner.reports or returner.attempts):
        return "it gets neither reports nor attempts"
    if returner.file:
        return "" if returner.file.startswith("/") else "its file is not an absolute path"
    parts = urlsplit(returner.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return "its url is not https://HOST/…, without a password"
    return (
        "" if len(returner.secret) >= MIN_SECRET_CHARS else f"its secret has fewer than {MIN_SECRET_CHARS} characters"
    )


def kind_of(name: str) -> WorkKind:
    """The queue of one returner. With these pauses a receiver may be unavailable for about a quarter of an hour."""
    return WorkKind(f"return.{name}", max_items=50_000, max_attempts=10, pause_first_s=1.0, pause_cap_s=300.0)


class ReturnerService:
    """Sends reports to returners."""

    def __init__(
        self,
        database: Database,
        views: ReportViews,
        attempts: ReturnedAttempts,
        work: WorkQueue,
        returners: Mapping[str, Returner],
        post: Post,
    ) -> None:
        self._database = database
        self._views, self._attempts = views, attempts
        self._work = work
        self._returners = returners
        self._post = post

    def enqueue_reports(self, ended: Sequence[EndedReport]) -> Transaction[None]:
        """Queue ended reports for all returners, in the transaction that stores their ends. A full queue takes none, which is logged."""
        names = [name for name, returner in self._returners.items() if returner.reports]
        yield from self._enqueue(names, [report.report for report in ended])

    def enqueue_attempts(self, job: JobRow, steps: Sequence[StepState]) -> Transaction[None]:
        """Queue the attempts of these steps that have ended, in the transaction that numbers their changes; as `enqueue_reports`."""
        names = [name for name, returner in self._returners.items() if returner.attempts]
        keys = list_ended(job, steps) if names else []
        if keys:
            yield from self._enqueue(names, keys)

    def _enqueue(self, names: Sequence[str], keys: Sequence[str]) -> Transaction[None]:
        for name in names:
            try:
                yield from self._work.enqueue_items(kind_of(name).name, [ItemRequest(key) for key in keys])
            except PrecastError as error:
                if not store_issues.QUEUE_FULL.matches(error):
                    raise
                log.error("%d reports or attempts are not sent to %s: %s", len(keys), name, error.message)

    async def run(self, name: str, owner: str) -> None:
        """Work off the queue of one returner until cancelled. Cancelling is safe: another worker claims the items when the lease ends."""
        await run_worker(self._database, lambda: self.work_off(name, owner), kind_of(name))

    async def work_off(self, name: str, owner: str) -> int:
        """Send a batch of the reports queued for one returner; returns how many it was."""
        claims = await self._work.claim(kind_of(name).name, owner, limit=AT_ONCE, lease_s=LEASE_S)
        await asyncio.gather(*(self._send(name, claim) for claim in claims))
        return len(claims)

    async def _send(self, name: str, claim: Claim) -> None:
        returner = self._returners[name]
        try:
            body = await self._document(claim.key, returner)
            if body is not None:
                await asyncio.to_thread(self._deliver, returner, claim.key, body)
        except (OSError, http.client.HTTPException, PrecastError) as error:
            reason = error.message if isinstance(error, PrecastError) else f"{type(error).__name__}: {error}"
            await self._work.fail(claim, reason)
            return
        await self._work.complete(claim)

    async def _document(self, key: str, returner: Returner) -> bytes | None:
        """The document of a report or an attempt; None if it no longer exists, or is not of the kind that the returner gets."""
        if not self._attempts.is_attempt(key):
            return await self._report_document(key, returner)
        found = await self._attempts.find(key)
        is_left_out = found is None or (
            (returner.only == "failed" and not found.is_failed)
            or (returner.only == "eventful" and not found.is_eventful)
        )
        return None if is_left_out else msgspec.json.encode(found)

    async def _report_document(self, report: str, returner: Returner) -> bytes | None:
        try:
            page = await self._views.events(report, 0)
        except PrecastError as error:
            if issues.NO_REPORT.matches(error):
                return None
            raise
        row = page.report
        is_failed = bool(row.failed) or row.state in ("broken-off", "not-run")
        if (returner.only == "failed" and not is_failed) or (
            returner.only == "eventful" and not (is_failed or row.events)
        ):
            return None
        events = list(page.events)
        while page.last < row.events and len(events) < MAX_EVENTS:
            page = await self._views.events(report, page.last)
            events += page.events
        sent = [msgspec.Raw(msgspec.json.encode(event)) for event in events[:MAX_EVENTS]]
        omitted = max(0, row.events - row.lost - len(sent))
        return msgspec.json.encode(ReportDocument(msgspec.Raw(msgspec.json.encode(row)), sent, omitted))

    # `_deliver` runs in a thread.

    def _deliver(self, returner: Returner, key: str, body: bytes) -> None:
        if returner.file:
            _append(Path(returner.file), body + b"\n")
            return
        stamp = str(int(self._database.clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "Precast-Attempt" if self._attempts.is_attempt(key) else "Precast-Report": key,
            "Precast-Timestamp": stamp,
            "Precast-Signature": signature(returner.secret, stamp, body),
        }
        status = self._post(returner.url, body, headers, POST_S)
        if not 200 <= status < 300:
            raise OSError(f"the receiver answered {status}")


def signature(secret: str, stamp: str, body: bytes) -> str:
    """The signature that a receiver checks: over the time and the body, so that neither can be replaced."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _append(path: Path, line: bytes) -> None:
    """Append a line atomically and sync it to disk; several processes may do so at once."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.write(handle, line) != len(line):
            raise OSError("the line was written only in part")
        os.fsync(handle)
    finally:
        os.close(handle)
