"""Follows a run to its end, change by change. The run is the server's: whoever watches may leave, and a server may be away for a while."""

import sys
import time

from precast.base.errors import PrecastError
from precast.cli.console.client import Client, segment
from precast.cli.jobs.progress import Progress
from precast.wire.jobs.views import RunChanges, RunView

# How long one question waits for an answer; on a terminal a clock moves.
ASK_S = 10.0
ASK_LIVE_S = 1.0
# How long a server may be away before one who watches gives up.
PATIENCE_S = 90.0


def watch(client: Client, base: str, run: RunView, progress: Progress, wait_s: float | None) -> RunView:
    """Show what happens until it is over, or `wait_s` is. Raises what asking raises, if the server stays away."""
    until_s = None if wait_s is None else time.monotonic() + wait_s
    after = 0
    try:
        progress.begins(run)
        while True:
            left_s = float("inf") if until_s is None else until_s - time.monotonic()
            ask_s = max(0.0, min(ASK_LIVE_S if progress.is_live else ASK_S, left_s))
            found = _ask(client, f"{base}/{segment(run.id)}/changes", after, ask_s, progress)
            progress.take(found)
            after = found.after
            if (found.run.is_over and not found.changes) or (left_s <= 0 and not found.run.is_over):
                progress.ends(found.run)
                return found.run
    except KeyboardInterrupt:
        progress.clear()
        print(f"precast: the run goes on; `precast run stop {run.id}` stops it", file=sys.stderr)
        raise


def _ask(client: Client, path: str, after: int, wait_s: float, progress: Progress) -> RunChanges:
    """What has changed; a server that is away is asked again for a while."""
    given_up_s: float | None = None
    while True:
        try:
            return client.ask("GET", path, RunChanges, query={"after": str(after), "wait_s": f"{wait_s:.1f}"})
        except PrecastError as error:
            now_s = time.monotonic()
            if not error.consequence.retry or (given_up_s is not None and now_s > given_up_s):
                raise
            if given_up_s is None:
                given_up_s = now_s + PATIENCE_S
                progress.note(f"{error.message}; the run is stored, trying again")
            time.sleep(1.0)
