"""The futures of a run as commands show them: who waits for whom, and who was given values that are replaced."""

from collections.abc import Iterator

import msgspec

from precast.cli.console.client import Client, segment
from precast.cli.console.output import format_time
from precast.wire.futures import JobFutures


def read_run_futures(client: Client, run: str) -> JobFutures:
    """All pages of the futures of a run."""
    path, found = f"/v1/runs/{segment(run)}/futures", None
    query: dict[str, str] = {}
    while True:
        page = client.ask("GET", path, JobFutures, query=query)
        promises = page.promises if found is None else [*found.promises, *page.promises]
        found = msgspec.structs.replace(page, promises=promises)
        if page.is_complete:
            return found
        last = page.promises[-1]
        query = {"after": f"{last.key}\n{last.node}\n{last.task}"}


def describe_waits(futures: JobFutures, key: str = "") -> Iterator[str]:
    """A line for each resource that waits, or was given a value that is replaced; with a key only for that."""
    for wait in futures.waits:
        if key in ("", wait.key):
            named = f", promised by {', '.join(wait.pending)}" if wait.pending else ""
            failed = f"; {'; '.join(wait.failed)}" if wait.failed else ""
            yield f"{wait.node} waits for {wait.key}{named}{failed} until {format_time(wait.due_at)}: {wait.resource}"
    for stale in futures.stale:
        if key in ("", stale.key):
            yield f"{stale.node} was given {stale.key} of {stale.producer}, which is replaced since: {stale.resource}"
