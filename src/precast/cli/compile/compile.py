"""`precast compile`: compiles a node's catalog from an environment on disk, without a server.

It prints the resources and where they are declared, in the order of application; `--json` prints the whole catalog in the format of
Puppet's tools, with this node's facts filled in. `--trace` prints the reads of the compile, which are all that the catalog depends on.
"""

import argparse
from typing import Any

import msgspec

from precast.catalog import unknown
from precast.catalog.envelope import seal
from precast.cli.compile.eval import print_logs, print_problems
from precast.cli.compile.node_inputs import add_environment_options, open_inputs
from precast.cli.console.exports import add_exports
from precast.cli.console.output import print_json, print_table
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.inputs import ABSENT
from precast.lang.node_answers import NodeData
from precast.lang.settings import Settings
from precast.types.catalog_check import check_catalog
from precast.types.ordering import application_order


def configure(parser: argparse.ArgumentParser) -> None:
    add_environment_options(parser)
    add_exports(parser)
    parser.add_argument(
        "--entry",
        metavar="PATH",
        default="",
        help="compile this manifest of the environment, as a plan's task of type manifest does, instead of the main manifest",
    )
    parser.add_argument("--json", action="store_true", help="print the whole catalog as one JSON document")
    parser.add_argument("--trace", action="store_true", help="print the reads of the compile instead of the catalog")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    inputs, node, settings = open_inputs(
        args, args.entry, missing_module_facts="warning", types_without_puppet="warning"
    )
    try:
        result = compile_catalog(inputs, settings)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        print_problems(failure.problems)
        raise failure.error from None
    print_logs(result.logs, inputs)
    print_problems(result.problems)
    if args.trace:
        _print_trace(result, args.json)
    elif args.json:
        print_json(_catalog(result, node, settings))
    else:
        _print_summary(result, node)
    print_problems(check_catalog(result.body, result.source_map, result.types))
    if result.refused:
        raise result.refused[0]
    return 0


def _catalog(result: CompileResult, node: NodeData, settings: Settings) -> Any:
    sealed = seal(
        result.body,
        result.body.digest(),
        name=node.certname,
        environment=settings.environment,
        code_id=None,
        places=result.source_map,
    )
    return unknown.fill(sealed, finder(node))


def finder(node: NodeData) -> unknown.Find:
    """The function that fills the holes of a catalog with the facts of this node."""

    def find(root: str, path: tuple[str | int, ...]) -> Any:
        value = node.find(root, path)
        return None if value is ABSENT else value

    return find


def _print_summary(result: CompileResult, node: NodeData) -> None:
    order, _ = application_order(result.body, result.types)
    places = result.source_map.places
    rows = [(ref, f"{places[ref].file}:{places[ref].line}" if ref in places else None) for ref in order]
    print_table(["RESOURCE", "DECLARED AT"], rows)
    print()
    classes = len(result.body.classes) - 1
    holes = {
        ".".join(map(str, hole)) for resource in result.body.resources for hole in unknown.holes(resource.parameters)
    }
    print(f"{node.certname}: {len(order)} resources, {classes} classes, {len(result.trace)} reads")
    if holes:
        print(f"filled in when served: {', '.join(sorted(holes))}")
    print(f"version {result.body.digest()}")


def _print_trace(result: CompileResult, as_json: bool) -> None:
    reads = [
        {
            "question": msgspec.to_builtins(read.question),
            "absent" if read.answer is ABSENT else "answer": True if read.answer is ABSENT else read.answer,
        }
        for read in result.trace
    ]
    if as_json:
        print_json(reads)
        return
    rows = []
    for read in reads:
        question = dict(read["question"])
        kind = question.pop("ask")
        about = " ".join(_format_value(value) for value in question.values())
        rows.append((kind, about, "absent" if "absent" in read else _format_value(read["answer"])))
    print_table(["QUESTION", "ABOUT", "ANSWER"], rows)


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(item, str | int) for item in value):
        return ".".join(map(str, value))
    text = str(value)
    return text if len(text) <= 72 else text[:69] + "..."
