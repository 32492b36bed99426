"""Targets on a command line: read and checked here, where an error can point at its place; resolved by the server."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from precast.cli.console.files import read_source
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.parser import parse

HELP = "a name, a glob, a list with commas, a query such as \"role = 'db'\", or @FILE with one a line"


def add_targets(parser: argparse.ArgumentParser, *, may_be_all: bool = False) -> None:
    """The positional TARGET …; with `--all` unless nothing given means all anyway."""
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=HELP)
    if not may_be_all:
        parser.add_argument("--all", action="store_true", help="every active node; nothing else means that")


def targets_of(args: argparse.Namespace) -> TargetsBody:
    """What was asked for. Raises InputError TARGET-001 to TARGET-005 with a caret, NotFoundError CLI-010."""
    words = words_of(args.targets)
    is_all = getattr(args, "all", not words)
    if not words and not is_all:
        raise wire_issues.NO_TARGETS.error()
    return TargetsBody(words, all=is_all, deactivated=getattr(args, "deactivated", False))


def words_of(given: Sequence[str]) -> list[str]:
    """Targets as they were given, those in files too, checked. Raises as `targets_of` does."""
    words = [word for one in given for word in _words(one)]
    for word in words:
        parse(word)
    return words


def tell_claims(is_claim: bool) -> None:
    """Say that facts decided, on standard error: nodes could have invented them."""
    if is_claim:
        print("precast: note: facts decided here, and facts are what nodes claim", file=sys.stderr)


def _words(given: str) -> Iterator[str]:
    if not given.startswith("@"):
        yield given
        return
    for line in read_source(given[1:]).text.splitlines():
        word = line.partition("#")[0].strip()
        if word:
            yield word
