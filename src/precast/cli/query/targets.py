"""Targets on a command line. They are parsed here, so that an error can point at its position, and resolved by the server."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from precast.cli.console.files import read_source
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.parser import parse

HELP = "a name, a glob, a comma-separated list, a query such as \"role = 'db'\", or @FILE with one target per line"


def add_targets(parser: argparse.ArgumentParser, *, may_be_all: bool = False) -> None:
    """Add the positional TARGET …, and `--all` unless no target means all nodes anyway."""
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=HELP)
    if not may_be_all:
        parser.add_argument("--all", action="store_true", help="every active node; no other target selects all")


def targets_of(args: argparse.Namespace) -> TargetsBody:
    """The targets for a request. Raises InputError TARGET-001 to TARGET-005 with a caret, NotFoundError CLI-010."""
    words = words_of(args.targets)
    is_all = getattr(args, "all", not words)
    if not words and not is_all:
        raise wire_issues.NO_TARGETS.error()
    return TargetsBody(words, all=is_all, deactivated=getattr(args, "deactivated", False))


def words_of(arguments: Sequence[str]) -> list[str]:
    """The targets of arguments and of the files they name, after a check of their syntax. Raises as `targets_of` does."""
    words = [word for argument in arguments for word in _words(argument)]
    for word in words:
        parse(word)
    return words


def note_claims(is_claim: bool) -> None:
    """Print to standard error that facts decided the result, because a node can report any facts."""
    if is_claim:
        print("precast: note: this result depends on facts, which nodes report about themselves", file=sys.stderr)


def _words(argument: str) -> Iterator[str]:
    if not argument.startswith("@"):
        yield argument
        return
    for line in read_source(argument[1:]).text.splitlines():
        word = line.partition("#")[0].strip()
        if word:
            yield word
