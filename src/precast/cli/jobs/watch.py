"""Follows a job to its end, change by change.

The server drives the job, so a user may stop watching at any time, and a watcher survives a restart of the server.
"""

import sys
import time
from typing import TypeVar

from precast.base.errors import PrecastError
from precast.cli.console.client import Client, segment
from precast.cli.console.live_line import LiveLine
from precast.cli.jobs.progress import Progress
from precast.wire.jobs.views import JobChanges, JobView

# How long the server may hold one request; on a terminal it is short, so that the seconds on the bar move.
REQUEST_WAIT_S = 10.0
LIVE_REQUEST_WAIT_S = 1.0
# How long a server may be unreachable before the watcher gives up.
PATIENCE_S = 90.0

Page = TypeVar("Page")


def watch(client: Client, base: str, job: JobView, progress: Progress, wait_s: float | None) -> JobView:
    """Show the changes of a job until it has ended, or `wait_s` have passed. Raises the client's error if the server stays unreachable."""
    until_s = None if wait_s is None else time.monotonic() + wait_s
    after = 0
    try:
        progress.show_start(job)
        while True:
            left_s = float("inf") if until_s is None else until_s - time.monotonic()
            request_s = max(0.0, min(LIVE_REQUEST_WAIT_S if progress.line.is_live else REQUEST_WAIT_S, left_s))
            page = read_changes(
                client, f"{base}/{segment(job.id)}/changes", JobChanges, after, request_s, progress.line
            )
            progress.show_changes(page)
            after = page.after
            if (page.run.is_over and not page.changes) or (left_s <= 0 and not page.run.is_over):
                progress.show_end(page.run)
                return page.run
    except KeyboardInterrupt:
        progress.line.clear()
        print(
            f"precast: the run goes on; `precast {'exec' if job.argv else 'run'} stop {job.id}` stops it",
            file=sys.stderr,
        )
        raise


def read_changes(client: Client, path: str, kind: type[Page], after: int, wait_s: float, line: LiveLine) -> Page:
    """The changes after a number; an unreachable server is asked again for `PATIENCE_S`."""
    give_up_at_s: float | None = None
    while True:
        try:
            return client.ask("GET", path, kind, query={"after": str(after), "wait_s": f"{wait_s:.1f}"})
        except PrecastError as error:
            now_s = time.monotonic()
            if not error.consequence.retry or (give_up_at_s is not None and now_s > give_up_at_s):
                raise
            if give_up_at_s is None:
                give_up_at_s = now_s + PATIENCE_S
                line.note(f"{error.message}; the run is stored, trying again")
            time.sleep(1.0)
