"""`precast secrets`: what the server knows about secrets. No command shows a value."""

import argparse

from precast.cli.secrets import references, sources


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    references.configure(commands)
    sources.configure(commands)
