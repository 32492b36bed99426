"""`precast net`: check, simulate, draw and exchange nets. Files are the text notation; PNML goes in and out by import and export."""

import argparse

from precast.cli.files import read_source
from precast.cli.output import print_json
from precast.net import check as checking
from precast.net.deadlock import Verdict
from precast.net.notation import parse
from precast.net.plain import firing_name
from precast.net.structure import Net

# What a check can find is not an error of the command.
EXIT_PROBLEMS = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    check = commands.add_parser("check", help="find cycles, work that can never start, and deadlocks")
    check.add_argument("file", metavar="FILE", help="a net in the text notation; - for standard input")
    check.add_argument(
        "--bound", type=int, metavar="N", help="look at no more than N states in the search for deadlocks"
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    check.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> int:
    net = parse(read_source(args.file))
    report = checking.check(net, args.bound)
    if args.json:
        print_json(_as_json(net, report))
    else:
        _print_report(net, report)
    return 0 if report.is_sound else EXIT_PROBLEMS


def _print_report(net: Net, report: checking.Report) -> None:
    for finding in report.findings:
        print(f"{finding.severity}: {finding.message} [{finding.code}]\n  hint: {finding.hint}")
    answer = report.deadlock
    if answer.verdict == Verdict.FREE:
        states = f" ({answer.states} states)" if answer.states else ""
        print(f"no deadlock: {answer.reason}{states}")
    print(f"{net.declared.name}: {len(net.declared.transitions)} transitions, {len(net.declared.places)} places")


def _as_json(net: Net, report: checking.Report) -> dict[str, object]:
    answer = report.deadlock
    return {
        "net": net.declared.name,
        "sound": report.is_sound,
        "findings": [finding._asdict() for finding in report.findings],
        "deadlock": {
            "verdict": answer.verdict.value,
            "reason": answer.reason,
            "states": answer.states,
            "trace": [firing_name(net, firing) for firing in answer.trace],
        },
    }
