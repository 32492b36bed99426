"""The options that choose which tasks of a plan run. The others are skipped, and keep their place in the order."""

import argparse

from precast.wire.plans.bodies import SubsetBody

_CHOICES = {
    "from": "run these tasks and what comes after them",
    "to": "run these tasks and what comes before them",
    "only": "run only these tasks",
    "skip": "leave these tasks out",
    "event": "run the tasks that are to run again on this event",
}


def add_choices(parser: argparse.ArgumentParser) -> None:
    for name, summary in _CHOICES.items():
        metavar = "EVENT" if name == "event" else "TASK"
        parser.add_argument(
            f"--{name}", metavar=metavar, action="append", default=[], dest=f"choose_{name}", help=summary
        )


def read_choices(args: argparse.Namespace) -> SubsetBody:
    """The choice of a command line; everything if the command has no such options."""
    return SubsetBody(*(getattr(args, f"choose_{name}", []) for name in _CHOICES))
