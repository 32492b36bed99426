"""`precast db clock`: whether the site's clock is trusted, and an operator's word that it is right."""

import argparse

import msgspec

from precast.app.shared_services import build_audit_log
from precast.cli.console.output import format_time, print_json
from precast.services.clocks.guard import ClockGuard
from precast.store import clocks
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction

NOT_TRUSTED = 1


async def show_clock(args: argparse.Namespace, guard: ClockGuard, database: Database) -> int:
    """Print what is known about the clock; with `--confirm`, trust it first."""
    if args.confirm:
        await database.write(_confirm, database)
    judgement, mark = await guard.examine(), await database.read(clocks.read_mark)
    now = database.clock.now()
    if args.json:
        shown = {"now": now, "trusted": judgement.is_trusted, "why": judgement.why, "hint": judgement.hint}
        print_json(msgspec.to_builtins({**shown, "last_trusted_at": None if mark is None else mark.at}))
    else:
        print(f"the clock shows {format_time(now)}, last trusted {format_time(mark.at) if mark else 'never'}")
        if not judgement.is_trusted:
            print(f"not trusted: {judgement.why}\nhint: {judgement.hint}")
    return 0 if judgement.is_trusted else NOT_TRUSTED


def _confirm(database: Database) -> Transaction[None]:
    now = database.clock.now()
    before = yield from clocks.read_mark()
    yield from clocks.confirm_clock(now)
    shown = None if before is None else before.at.isoformat()
    yield from build_audit_log(database).add("system", "clock.confirm", "clock", now=now.isoformat(), before=shown)
