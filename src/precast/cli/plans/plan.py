"""`precast plan`: deployments as graphs of tasks, from their files to their runs."""

import argparse

from precast.cli.plans.local_commands import add_local_commands
from precast.cli.plans.runs import add_run_commands


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    add_local_commands(commands)
    add_run_commands(commands)
