"""Returners: what becomes of a report that is over is told to others, into a file of JSON lines or to a webhook.

That a report is to be told is an item of work, made in the transaction that stores its end, so none is forgotten. Each returner has a
queue and a worker of its own: one that fails or hangs holds up nobody else, and never what nodes send. What fails is tried again after
growing pauses; after the last try it is a dead letter, which `precast db work --dead` lists and `--requeue` tries again. A report may
come twice: it has an id.
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
from precast.services.reports import issues as issues
from precast.services.reports.reports import Ended
from precast.services.reports.views import ReportViews
from precast.services.working import keep_working
from precast.store import issues as store_issues
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import Asked, Claim, WorkKind
from precast.store.queue.queue import WorkQueue

log = logging.getLogger("precast.returners")

MIN_SECRET_CHARS = 20
POST_S = 15.0
LEASE_S = 60.0
AT_ONCE = 20
# A report with more events than this is told without the others, and says so.
MAX_EVENTS = 1_000

Post = Callable[[str, bytes, Mapping[str, str], float], int]


class Returner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where reports go, and which: all, those in which something happened, those in which something went wrong."""

    file: str = ""
    url: str = ""
    secret: str = ""
    only: Literal["all", "eventful", "failed"] = "all"


class Told(msgspec.Struct, frozen=True):
    """What others are told of a report."""

    report: msgspec.Raw
    events: list[msgspec.Raw]
    events_cut: int = 0


def load_returners(path: Path) -> dict[str, Returner]:
    """The returners of a server by name. Raises InputError REPORT-004."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~stat.S_IRGRP:
            raise issues.BAD_RETURNERS.error(path=path, reason="others may read or change it, and it holds secrets")
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Returner])
    except OSError as error:
        raise issues.BAD_RETURNERS.error(path=path, reason=error.strerror) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise issues.BAD_RETURNERS.error(path=path, reason=error) from None
    for name, one in found.items():
        if problem := _problem(name, one):
            raise issues.BAD_RETURNERS.error(path=path, reason=f"{name}: {problem}")
    return found


def _problem(name: str, one: Returner) -> str:
    if not name.isidentifier() or not name.islower() or len(name) > 30:
        return "its name is not of lower-case letters, digits and underscores"
    if bool(one.file) is bool(one.url):
        return "exactly one of file and url is needed"
    if one.file:
        return "" if one.file.startswith("/") else "its file is no absolute path"
    parts = urlsplit(one.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return "its url is not https://HOST/…, without a password"
    return "" if len(one.secret) >= MIN_SECRET_CHARS else f"its secret has less than {MIN_SECRET_CHARS} characters"


def kind_of(name: str) -> WorkKind:
    """The queue of one returner. With these pauses a receiver may be away for a quarter of an hour or so."""
    return WorkKind(f"return.{name}", max_items=50_000, max_attempts=10, pause_first_s=1.0, pause_cap_s=300.0)


class ReturnerService:
    """Tells others of reports."""

    def __init__(
        self, database: Database, views: ReportViews, work: WorkQueue, returners: Mapping[str, Returner], post: Post
    ) -> None:
        self._database = database
        self._views = views
        self._work = work
        self._returners = returners
        self._post = post

    def hearing(self, ended: Sequence[Ended]) -> Transaction[None]:
        """Reports are over, as part of the transaction that stores it. A queue that is full takes no more, and says so."""
        for name in self._returners:
            try:
                yield from self._work.enqueuing_many(kind_of(name).name, [Asked(one.report) for one in ended])
            except PrecastError as error:
                if not store_issues.QUEUE_FULL.matches(error):
                    raise
                log.error("%d reports are not told to %s: %s", len(ended), name, error.message)

    async def run(self, name: str, owner: str) -> None:
        """Tell one returner what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        await keep_working(self._database, lambda: self.work_off(name, owner), kind_of(name))

    async def work_off(self, name: str, owner: str) -> int:
        """Tell what waits for one returner; how many reports it was."""
        claims = await self._work.claim(kind_of(name).name, owner, limit=AT_ONCE, lease_s=LEASE_S)
        await asyncio.gather(*(self._tell(name, claim) for claim in claims))
        return len(claims)

    async def _tell(self, name: str, claim: Claim) -> None:
        one = self._returners[name]
        try:
            body = await self._document(claim.key, one)
            if body is not None:
                await asyncio.to_thread(self._deliver, one, claim.key, body)
        except (OSError, http.client.HTTPException, PrecastError) as error:
            reason = error.message if isinstance(error, PrecastError) else f"{type(error).__name__}: {error}"
            await self._work.fail(claim, reason)
            return
        await self._work.complete(claim)

    async def _document(self, report: str, one: Returner) -> bytes | None:
        """What is told; None if the report is gone, or not one of those that are wanted."""
        try:
            page = await self._views.events(report, 0)
        except PrecastError as error:
            if issues.NO_REPORT.matches(error):
                return None
            raise
        row = page.report
        is_bad = bool(row.failed) or row.state in ("broken-off", "not-run")
        if (one.only == "failed" and not is_bad) or (one.only == "eventful" and not (is_bad or row.events)):
            return None
        events = list(page.events)
        while page.last < row.events and len(events) < MAX_EVENTS:
            page = await self._views.events(report, page.last)
            events += page.events
        told = [msgspec.Raw(msgspec.json.encode(event)) for event in events[:MAX_EVENTS]]
        cut = max(0, row.events - row.lost - len(told))
        return msgspec.json.encode(Told(msgspec.Raw(msgspec.json.encode(row)), told, cut))

    # What follows runs in a thread.

    def _deliver(self, one: Returner, report: str, body: bytes) -> None:
        if one.file:
            _append(Path(one.file), body + b"\n")
            return
        stamp = str(int(self._database.clock.now().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "Precast-Report": report,
            "Precast-Timestamp": stamp,
            "Precast-Signature": signature(one.secret, stamp, body),
        }
        status = self._post(one.url, body, headers, POST_S)
        if not 200 <= status < 300:
            raise OSError(f"the receiver answered {status}")


def signature(secret: str, stamp: str, body: bytes) -> str:
    """What a receiver compares: over the time and the body, so that neither can be another's."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _append(path: Path, line: bytes) -> None:
    """A line, whole and on the disk; several processes may do so at once."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.write(handle, line) != len(line):
            raise OSError("the line was written in part")
        os.fsync(handle)
    finally:
        os.close(handle)
