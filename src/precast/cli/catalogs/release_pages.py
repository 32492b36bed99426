"""Requests a release or rollback page after page, prints the progress, and says how an interrupted one is completed."""

import socket
import sys
import time
from collections.abc import Sequence

import msgspec

from precast.base.errors import PrecastError, UnavailableError
from precast.cli.console.client import Client
from precast.wire.catalogs.bodies import MoveView, ReleaseBody, ReleaseDone, ReleasePoint, RollbackBody

RELEASE, ROLLBACK = "release", "rollback"
DONE = {RELEASE: "released", ROLLBACK: "rolled back"}
_PATHS = {RELEASE: "/v1/releases", ROLLBACK: "/v1/rollbacks"}
# Names of nodes that are kept for each move of a rollback.
NAMES_SHOWN = 20
# Targets such as `has Package[nginx]` cannot be resolved while the catalogs of the page before are indexed.
NOT_INDEXED = "QUERY-001"
INDEXING_S, INDEXING_PAUSE_S = 120.0, 0.5
# Printed if the answer to the first request of a rollback did not arrive.
UNKNOWN = (
    "precast: the rollback may have begun: `precast release list` shows it then, and `precast rollback --continue NUMBER` completes an"
    " unfinished one; the same command again could go further back"
)


def request_pages(client: Client, kind: str, body: ReleaseBody | RollbackBody) -> ReleaseDone:
    """Request page after page, and print the progress. Raises what a request raises, after it has printed the next step."""
    try:
        total = page = client.ask("POST", _PATHS[kind], ReleaseDone, body)
    except (UnavailableError, KeyboardInterrupt) as error:
        if kind == ROLLBACK and body.release is None and not _is_unreached(error):
            print(UNKNOWN, file=sys.stderr)
        raise
    targets, done = page.targets, 0
    while page.after is not None:
        done += len(page.released) + len(page.unchanged) + len(page.left_out)
        print(f"precast: {DONE[kind]} {done:,} of {targets:,}", file=sys.stderr, flush=True)
        body = msgspec.structs.replace(body, release=page.release, after=page.after)
        try:
            page = _request_next(client, kind, body)
        except (PrecastError, KeyboardInterrupt):
            print(_interrupted(kind, page.release, done, targets), file=sys.stderr)
            raise
        total = ReleaseDone(
            total.released + page.released,
            total.unchanged + page.unchanged,
            total.left_out | page.left_out,
            total.pending + page.pending,
            page.release,
            targets=targets,
            moves=_join_moves(total.moves, page.moves),
        )
    return total


def _request_next(client: Client, kind: str, body: ReleaseBody | RollbackBody) -> ReleaseDone:
    """Request a page that follows another one. Waits while the catalogs of that one are indexed."""
    end_s = time.monotonic() + INDEXING_S
    while True:
        try:
            return client.ask("POST", _PATHS[kind], ReleaseDone, body)
        except UnavailableError as error:
            if error.code != NOT_INDEXED or time.monotonic() > end_s:
                raise
        time.sleep(INDEXING_PAUSE_S)


def _is_unreached(error: BaseException) -> bool:
    """Whether the server cannot have received the request."""
    return isinstance(error.__cause__, ConnectionRefusedError | socket.gaierror)


def _interrupted(kind: str, number: int | None, done: int, targets: int) -> str:
    next_step = "repeat the command"
    if number is not None:
        next_step = f"`precast {kind} --continue {number}` goes on"
        if kind == ROLLBACK:
            next_step += "; the same command again would go further back"
    return f"precast: the {kind} was interrupted after {done:,} of {targets:,} nodes: {next_step}"


def _join_moves(moves: Sequence[MoveView], more: Sequence[MoveView]) -> list[MoveView]:
    """The moves of two pages, equal ones grouped."""
    groups: dict[tuple[ReleasePoint, ReleasePoint], MoveView] = {}
    for move in (*moves, *more):
        key = move.before, move.after
        known = groups.get(key)
        if known is None:
            groups[key] = move
        else:
            groups[key] = MoveView(*key, [*known.nodes, *move.nodes][:NAMES_SHOWN], known.count + move.count)
    return sorted(groups.values(), key=lambda move: (-move.count, move.nodes))
