"""`precast db raise-term`: an operator's word that this database is the newest of the site."""

import argparse

from precast.app.shared_services import build_audit_log
from precast.cli.console.output import print_json
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.sessions.terms import raise_term

# Terms begin with the seconds since 1970, so one far beyond that is a mistake that could not be taken back.
MOST = 2**40


def read_term(word: str) -> int:
    """The term that an operator has read in an error."""
    if not word.isascii() or not word.isdigit() or int(word) > MOST:
        raise argparse.ArgumentTypeError(f"{word!r} is no term: give the number that the error names")
    return int(word)


async def raise_database_term(args: argparse.Namespace, database: Database) -> int:
    """Raise the term above that which nodes have seen, and print it."""
    term = await database.write(_raise_term, database, args.seen)
    if args.json:
        print_json({"term": term})
    else:
        print(f"the term of this database is {term} now; nodes that have seen {args.seen} connect again")
    return 0


def _raise_term(database: Database, seen: int) -> Transaction[int]:
    term = yield from raise_term(seen, database.clock.now())
    yield from build_audit_log(database).add("system", "term.raise", "database", term=term, seen=seen)
    return term
