"""`precast eval`: evaluates Puppet code and prints the value of its last expression.

The value is printed to standard output: a string unchanged, anything else in Puppet's notation, and with --json as data. Log lines of the
code are printed to standard error. Identity facts that stayed holes are filled in; a future is printed as a future.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from precast.base.spans import Source, visible
from precast.catalog.problems import CatalogProblem
from precast.cli.compile.node_inputs import NodeInputs, make_node, make_settings, open_inputs
from precast.cli.console.extensions import add_extensions
from precast.cli.console.files import read_source
from precast.cli.console.output import print_json
from precast.lang import datatypes
from precast.lang.compile import CompileFailure, evaluate
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, FactPath, Inputs, TrustedPath
from precast.lang.node_answers import NodeAnswers
from precast.lang.settings import LogLine
from precast.lang.values import unknowns
from precast.lang.values.base import Unknown, from_data, literal, rich, to_string

NODE = "localhost"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="Puppet code; - for standard input")
    parser.add_argument("--facts", metavar="FILE", help="facts as JSON or YAML (default: none)")
    add_extensions(parser, "the node's certificate")
    parser.add_argument("--environment", metavar="DIR", help="an environment whose modules the code may use")
    parser.add_argument("--hiera", metavar="FILE", help="the hiera.yaml of the global layer (default: none)")
    parser.add_argument("--node", metavar="NAME", default=NODE, help=f"the node's name (default: {NODE})")
    parser.add_argument("--json", action="store_true", help="print value, type and logs as one JSON document")
    parser.add_argument(
        "--strict", action="store_true", help="as Puppet 8: unknown variables and similar mistakes are errors"
    )
    parser.set_defaults(run=_run, from_server=False)


def _run(args: argparse.Namespace) -> int:
    source = read_source("-") if args.code == "-" else Source("code", args.code)
    inputs, _, settings = _open(args)
    try:
        evaluation = evaluate(source, inputs, settings)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        raise failure.error from None
    value = fill_holes(evaluation.value, inputs)
    if args.json:
        print_json(_as_json(value, evaluation.logs, inputs))
        return 0
    print_logs(evaluation.logs, inputs)
    print(visible_lines(value if isinstance(value, str) else literal(value)))
    return 0


def _open(args: argparse.Namespace) -> NodeInputs:
    if args.environment is not None:
        return open_inputs(args)
    node = make_node(args, args.node)
    return NodeInputs(Inputs(NodeAnswers(node, FileStore(TextTree({})))), node, make_settings(args))


def fill_holes(value: Any, inputs: Inputs) -> Any:
    """The value with its holes filled from the node's facts."""

    def resolve(unknown: Unknown) -> Any:
        if not isinstance(unknown, unknowns.Hole):
            return unknown
        question = FactPath(unknown.path) if unknown.root == "facts" else TrustedPath(unknown.path)
        answer = inputs.ask(question)
        return None if answer is ABSENT else from_data(answer)

    return unknowns.replace(value, resolve)


def print_logs(logs: Sequence[LogLine], inputs: Inputs) -> None:
    for line in logs:
        print(f"{line.level}: {visible(to_string(fill_holes(line.message, inputs)))}", file=sys.stderr)


def print_problems(problems: Sequence[CatalogProblem]) -> None:
    """Print problems of a catalog that are no errors."""
    for problem in problems:
        line = f"precast: warning: {visible(problem.text)} [{problem.code}]"
        print(f"{line}\n  hint: {visible(problem.hint)}", file=sys.stderr)


def _as_json(value: Any, logs: Sequence[LogLine], inputs: Inputs) -> dict[str, object]:
    return {
        "value": rich(value),
        "type": str(datatypes.infer(value)),
        "logs": [[line.level, to_string(fill_holes(line.message, inputs))] for line in logs],
    }


def visible_lines(text: str) -> str:
    """Text that is safe on a terminal, with its line breaks."""
    return "\n".join(map(visible, text.split("\n")))
