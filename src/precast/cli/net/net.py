"""`precast net`: checks, simulates and draws nets in the text notation or PNML, and converts one into the other."""

import argparse

from precast.cli.console.files import read_bytes, write_text
from precast.cli.net import check as net_check
from precast.cli.net import plan as net_plan
from precast.cli.net.sources import read_net
from precast.net.drawing.dot import write_dot
from precast.net.drawing.picture import make_picture
from precast.net.drawing.svg import write_svg
from precast.net.exchange.notation_writer import write
from precast.net.exchange.pnml_reader import read_pnml
from precast.net.exchange.pnml_writer import write_pnml


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    net_check.configure(commands.add_parser("check", help="find cycles, work that can never start, and deadlocks"))
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
    command.add_argument("file", metavar="FILE", help="a net in the text notation or PNML; - for standard input")
    return command


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", default="-", help="write to FILE instead of standard output")


def _draw(args: argparse.Namespace) -> int:
    picture = make_picture(read_net(args.file).declared)
    write_text(args.output, write_svg(picture) if args.format == "svg" else write_dot(picture))
    return 0


def _export(args: argparse.Namespace) -> int:
    write_text(args.output, write_pnml(read_net(args.file)))
    return 0


def _import(args: argparse.Namespace) -> int:
    name = "standard input" if args.file == "-" else args.file
    write_text(args.output, write(read_pnml(name, read_bytes(args.file)).declared))
    return 0
