"""Follows a run of a plan to its end. The server drives it, so a person may stop watching at any time."""

import argparse
import sys
import time

from precast.cli.console.client import Client, segment
from precast.cli.jobs.options import duration_s
from precast.cli.jobs.watch import LIVE_REQUEST_WAIT_S, REQUEST_WAIT_S, read_changes
from precast.cli.plans.run_progress import RunProgress
from precast.wire.jobs import states as job_states
from precast.wire.plans import states
from precast.wire.plans.bodies import PlanChanges, PlanRunView

PLANS = "/v1/plans"
UNFINISHED, FAILED, STOPPED = 3, 4, 5
EXITS = {
    UNFINISHED: "the run has not ended within --wait, and goes on",
    FAILED: "some tasks failed, or could not begin because others failed",
    STOPPED: "the run was stopped or aborted before all tasks had ended",
}


def follow(client: Client, run: PlanRunView, args: argparse.Namespace, *, first_round: int = 1) -> int:
    """Print the progress of a run until it has ended, unless the command is to detach; returns the exit code."""
    progress = RunProgress(args.json, first_round)
    if getattr(args, "detach", False):
        progress.show_start(run) if not args.json else progress.show_end(run)
        if not args.json:
            print(f"`precast plan watch {run.run.id}` follows it")
        return 0
    wait_s = None if args.wait is None else duration_s(args.wait)
    return exit_code(watch(client, run, progress, wait_s))


def watch(client: Client, run: PlanRunView, progress: RunProgress, wait_s: float | None) -> PlanRunView:
    """Show the changes of a run until it has ended, or `wait_s` have passed. Raises the client's error if no server answers for long."""
    until_s = None if wait_s is None else time.monotonic() + wait_s
    after = 0
    try:
        progress.show_start(run)
        while True:
            left_s = float("inf") if until_s is None else until_s - time.monotonic()
            request_s = max(0.0, min(LIVE_REQUEST_WAIT_S if progress.line.is_live else REQUEST_WAIT_S, left_s))
            path = f"{PLANS}/{segment(run.run.id)}/changes"
            page = read_changes(client, path, PlanChanges, after, request_s, progress.line)
            progress.show_changes(page)
            after = page.after
            if (page.run.run.is_over and not page.changes) or (left_s <= 0 and not page.run.run.is_over):
                progress.show_end(page.run)
                return page.run
    except KeyboardInterrupt:
        progress.line.clear()
        print(f"precast: the run goes on; `precast plan stop {run.run.id}` stops it", file=sys.stderr)
        raise


def exit_code(run: PlanRunView) -> int:
    """The exit code for a watched run."""
    if not run.run.is_over:
        return UNFINISHED
    is_done = run.run.state == job_states.DONE
    if not is_done and all(failure.reason == job_states.ABORTED for failure in run.failures):
        return STOPPED
    has_failed = run.counts.get(states.FAILED) or run.counts.get(states.DEP_FAILED)
    return FAILED if has_failed else 0 if is_done else STOPPED
