"""`precast lookup`: prints the value of a Hiera key for one node, and with --explain how it was found.

The value is printed to standard output: a string unchanged, anything else in Puppet's notation, or with --json as data. Exit code 1
means that no key has a value. A Sensitive value is never printed.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from precast.base.spans import visible
from precast.cli import issues
from precast.cli.compile.eval import fill_holes, print_logs, visible_lines
from precast.cli.compile.node_inputs import add_environment_options, open_inputs
from precast.cli.console.exports import add_exports
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.lang.compile import CompileFailure
from precast.lang.hiera.explanation import Step, shown
from precast.lang.inputs import Inputs
from precast.lang.lookup import LookupRequest, LookupResult, look_up
from precast.lang.values.base import Hash, Sensitive, rich

STRATEGIES = ("first", "unique", "hash", "deep")
_DEEP_OPTIONS = ("knockout_prefix", "sort_merged_arrays", "merge_hash_arrays")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "keys",
        metavar="KEY",
        nargs="+",
        help="a key, such as ntp::servers or users.0.name; the first key with a value is used",
    )
    add_environment_options(parser)
    add_exports(parser)
    parser.add_argument(
        "--merge", choices=STRATEGIES, help="how values of several levels are merged (default: as lookup_options say)"
    )
    parser.add_argument(
        "--knock-out-prefix",
        metavar="TEXT",
        dest="knockout_prefix",
        help="with deep: the prefix of values that are removed",
    )
    parser.add_argument("--sort-merged-arrays", action="store_true", help="with deep: sort merged arrays")
    parser.add_argument("--merge-hash-arrays", action="store_true", help="with deep: also merge hashes inside arrays")
    parser.add_argument("--default", metavar="TEXT", help="the value if no key has one")
    parser.add_argument("--type", metavar="TYPE", help="the data type that the value must have")
    parser.add_argument(
        "--compile", action="store_true", help="compile the manifests first, for the variables that they set"
    )
    parser.add_argument(
        "--explain", action="store_true", help="print every layer, level and path that was searched, with the result"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    declare_exits(parser, {1: "no key has a value"})
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    inputs, _, settings = open_inputs(args)
    request = LookupRequest(tuple(args.keys), _merge(args), args.type, args.explain, args.compile)
    try:
        result = look_up(request, inputs, settings)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        raise failure.error from None
    print_logs(result.logs, inputs)
    value = args.default if result.key is None else fill_holes(result.value, inputs)
    has_value = result.key is not None or args.default is not None
    if args.json:
        _print_document(result, value, has_value, inputs)
    else:
        _print_text(result, value, has_value, args, inputs)
    return 0 if has_value else 1


def _merge(args: argparse.Namespace) -> Any:
    options = {name: getattr(args, name) for name in _DEEP_OPTIONS if getattr(args, name)}
    if not options:
        return args.merge
    if args.merge != "deep":
        raise issues.ONLY_WITH_DEEP.error(
            name="--" + next(iter(options)).replace("knockout", "knock-out").replace("_", "-")
        )
    return Hash.of((("strategy", "deep"), *options.items()))


def _print_text(result: LookupResult, value: Any, has_value: bool, args: argparse.Namespace, inputs: Inputs) -> None:
    if result.explanation is not None:
        for line in _lines(result.explanation, inputs, ""):
            print(visible_lines(line))
    if not has_value:
        names = ", ".join(args.keys)
        print(f"precast: no value for {visible(names)}{visible(result.guess)}", file=sys.stderr)
        if not args.explain:
            print("  hint: --explain shows which levels were searched", file=sys.stderr)
    elif not args.explain:
        print(visible_lines(value if isinstance(value, str) else shown(value)))
    elif result.key is None:
        print(f"Using the default {shown(value)}")


def _print_document(result: LookupResult, value: Any, has_value: bool, inputs: Inputs) -> None:
    document: dict[str, Any] = {"found": result.key is not None, "key": result.key}
    if has_value:
        document["value"] = rich(_redacted(value))
    if result.guess:
        document["guess"] = result.guess.strip()
    if result.explanation is not None:
        document["steps"] = _tree(result.explanation, inputs)["steps"]
    print_json(document)


def _redacted(value: Any) -> Any:
    if isinstance(value, Sensitive):
        return str(value)
    if isinstance(value, tuple):
        return tuple(map(_redacted, value))
    if isinstance(value, Hash):
        return Hash.of((key, _redacted(item)) for key, item in value.items())
    return value


_DETAILS = {"file": 'Using configuration "{}"', "declared": 'Original path: "{}"', "options": "Options: {}"}


def _lines(step: Step, inputs: Inputs, indent: str) -> Iterator[str]:
    """The steps below a step as lines, each indented below the step that it is part of."""
    for child in step.steps:
        if isinstance(child, Step):
            yield f"{indent}{child.text}"
            for name, value in child.details:
                text = value if isinstance(value, str) else shown(value, f"{indent}  ")
                yield f"{indent}  {_DETAILS[name].format(text)}"
            yield from _lines(child, inputs, f"{indent}  ")
        else:
            yield f"{indent}{_outcome(child, inputs, indent)}"


def _outcome(note: tuple[str, Any], inputs: Inputs, indent: str) -> str:
    kind, value = note
    match kind:
        case "found":
            return f'Found key: "{value[0]}" value: {shown(fill_holes(value[1], inputs), indent)}'
        case "not found":
            return f'No such key: "{value}"'
        case "result":
            return f"Merged result: {shown(fill_holes(value, inputs), indent)}"
        case _:
            return str(value)


def _tree(step: Step, inputs: Inputs) -> dict[str, Any]:
    child_trees: list[Any] = []
    for child in step.steps:
        if isinstance(child, Step):
            child_trees.append(_tree(child, inputs))
        elif child[0] == "found":
            child_trees.append({"found": child[1][0], "value": rich(_redacted(fill_holes(child[1][1], inputs)))})
        elif child[0] == "result":
            child_trees.append({"merged": rich(_redacted(fill_holes(child[1], inputs)))})
        else:
            child_trees.append({child[0].replace(" ", "_"): child[1]})
    details = {name: rich(value) for name, value in step.details}
    return {"step": step.text, **details, "steps": child_trees}
