"""Prints what is wrong with a plan, one line for each problem and a hint, in the form that editors find places by."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

import msgspec

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.plans.views.descriptions import count, list_names
from precast.wire.plans.bodies import PlanCheck, ProblemView

# Plans of other tools have many; a start shows the first.
WARNINGS_SHOWN = 10


def print_problems(errors: Iterable[ProblemView], warnings: Iterable[ProblemView], file: TextIO | None = None) -> None:
    """Print errors, then warnings; to standard output unless another file is given."""
    for word, problems in (("error", errors), ("warning", warnings)):
        for problem in problems:
            place = f"{visible(problem.file)}:{problem.line}:{problem.column}: " if problem.file else ""
            print(f"{place}{word}: {visible(problem.text)} [{problem.code}]", file=file or sys.stdout)
            if problem.hint:
                print(f"  hint: {visible(problem.hint)}", file=file or sys.stdout)


def print_first_warnings(warnings: Sequence[ProblemView], where_all: str) -> None:
    """Print the first warnings of a plan that starts nevertheless to standard error."""
    print_problems((), warnings[:WARNINGS_SHOWN], sys.stderr)
    if len(warnings) > WARNINGS_SHOWN:
        print(f"{count(len(warnings) - WARNINGS_SHOWN, 'more warning')}; {where_all}", file=sys.stderr)


def show_check(check: PlanCheck, args: argparse.Namespace, note: str = "") -> None:
    """Print what a check has found, and a note about what it was checked over."""
    if args.json:
        print_json(msgspec.to_builtins(check))
        return
    print_problems(check.errors, check.warnings)
    if not check.digest:
        print(f"{count(len(check.errors), 'error')}, {count(len(check.warnings), 'warning')}")
        return
    todo = check.instances - check.skipped
    rest = f", of which {todo} would run" if check.skipped else ""
    size = f"{count(check.tasks, 'task')}, {check.instances} on {count(check.nodes, 'node')}{rest}"
    counts = [
        count(len(found), word) for found, word in ((check.errors, "error"), (check.warnings, "warning")) if found
    ]
    print(f"{visible(check.name)}: {size}: {', '.join(counts) or 'sound'}")
    if check.needs_commands:
        print(f"runs commands, which needs the role for commands: {visible(list_names(check.needs_commands))}")
    if note:
        print(visible(note))
