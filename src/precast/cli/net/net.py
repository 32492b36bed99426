"""`precast net`: checks, simulates and draws nets in the text notation, and converts them from and to PNML."""

import argparse

from precast.base.spans import visible
from precast.cli.console.files import read_bytes, read_source, write_text
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.cli.net import plan as net_plan
from precast.net.analysis import check as checking
from precast.net.analysis.deadlock import Verdict
from precast.net.drawing.dot import write_dot
from precast.net.drawing.picture import make_picture
from precast.net.drawing.svg import write_svg
from precast.net.exchange.notation import parse
from precast.net.exchange.notation_writer import write
from precast.net.exchange.pnml_reader import read_pnml
from precast.net.exchange.pnml_writer import write_pnml
from precast.net.model.compiler import MOST, read_count
from precast.net.model.plain_net import firing_name
from precast.net.model.structure import Net

# Findings are a result of the command, not an error of it.
EXIT_PROBLEMS, EXIT_NOT_PROVEN = 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    check = commands.add_parser("check", help="find cycles, work that can never start, and deadlocks")
    _add_file(check)
    check.add_argument(
        "--bound", type=_positive, metavar="N", help="visit at most N states in the search for deadlocks"
    )
    check.add_argument("--json", action="store_true", help="print one JSON document")
    check.set_defaults(run=_check)
    declare_exits(
        check,
        {
            EXIT_PROBLEMS: "the net has a problem",
            EXIT_NOT_PROVEN: "no problem was found, but the search ended before it could prove that there is no deadlock",
        },
    )
    net_plan.configure(
        _add_file(
            commands.add_parser(
                "simulate", help="simulate the net: its duration, its critical path, and the effect of changes"
            )
        )
    )
    draw = _add_file(commands.add_parser("draw", help="draw the net as SVG or DOT"))
    draw.add_argument("--format", choices=("svg", "dot"), default="svg", help="svg (default) or dot")
    _add_output(draw)
    draw.set_defaults(run=_draw)
    export = _add_file(commands.add_parser("export", help="write the net as PNML, for other Petri-net tools"))
    _add_output(export)
    export.set_defaults(run=_export)
    imported = commands.add_parser("import", help="read PNML and write the text notation")
    imported.add_argument("file", metavar="FILE", help="a PNML file; - for standard input")
    _add_output(imported)
    imported.set_defaults(run=_import)


def _add_file(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("file", metavar="FILE", help="a net in the text notation; - for standard input")
    return command


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", default="-", help="write to FILE instead of standard output")


def _positive(text: str) -> int:
    if (number := read_count(text, 1)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST}")
    return number


def _draw(args: argparse.Namespace) -> int:
    picture = make_picture(parse(read_source(args.file)).declared)
    write_text(args.output, write_svg(picture) if args.format == "svg" else write_dot(picture))
    return 0


def _export(args: argparse.Namespace) -> int:
    write_text(args.output, write_pnml(parse(read_source(args.file))))
    return 0


def _import(args: argparse.Namespace) -> int:
    name = "standard input" if args.file == "-" else args.file
    write_text(args.output, write(read_pnml(name, read_bytes(args.file)).declared))
    return 0


def _check(args: argparse.Namespace) -> int:
    net = parse(read_source(args.file))
    report = checking.check(net, args.bound)
    if args.json:
        print_json(_as_json(net, report))
    else:
        _print_report(net, report)
    return {True: 0, False: EXIT_PROBLEMS, None: EXIT_NOT_PROVEN}[report.is_sound]


def _print_report(net: Net, report: checking.Report) -> None:
    for finding in report.findings:
        print(f"{finding.severity}: {visible(finding.message)} [{finding.code}]\n  hint: {visible(finding.hint)}")
    answer = report.deadlock
    if answer.verdict == Verdict.FREE:
        states = f" ({answer.states} states)" if answer.states else ""
        print(f"no deadlock: {answer.reason}{states}")
    transitions = net.declared.transitions
    steps = sum(transition.is_step for transition in transitions)
    counts = {"step": steps, "transition": len(transitions) - steps, "place": len(net.declared.places)}
    text = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in counts.items())
    print(f"{visible(net.declared.name)}: {text}")


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
