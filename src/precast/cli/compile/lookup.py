"""`precast lookup`: the value of a key in Hiera for one node, and why it is that.

The value goes to standard output: a string as it is, anything else in Puppet's notation, or with --json as data. Exit code 1 says that
no key has a value. A Sensitive value is never printed.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from precast.base.spans import visible
from precast.cli import issues
from precast.cli.code.local_environments import add_environment_options, open_inputs
from precast.cli.compile.eval import filled, print_logs, visible_lines
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.lang.compile import CompileFailure
from precast.lang.hiera.explanation import Step, shown
from precast.lang.inputs import Inputs
from precast.lang.lookup import LookupRequest, LookupResult, look_up
from precast.lang.settings import Settings
from precast.lang.values.base import Hash, Sensitive, rich

STRATEGIES = ("first", "unique", "hash", "deep")
_DEEP_OPTIONS = ("knockout_prefix", "sort_merged_arrays", "merge_hash_arrays")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "keys",
        metavar="KEY",
        nargs="+",
        help="a key, such as ntp::servers or users.0.name; the first with a value counts",
    )
    add_environment_options(parser)
    parser.add_argument(
        "--merge", choices=STRATEGIES, help="how values of several levels become one; default: what lookup_options say"
    )
    parser.add_argument(
        "--knock-out-prefix", metavar="TEXT", dest="knockout_prefix", help="with deep: what marks values to take out"
    )
    parser.add_argument("--sort-merged-arrays", action="store_true", help="with deep: sort arrays that were merged")
    parser.add_argument("--merge-hash-arrays", action="store_true", help="with deep: merge hashes inside arrays too")
    parser.add_argument("--default", metavar="TEXT", help="the value if no key has one")
    parser.add_argument("--type", metavar="TYPE", help="the data type that the value must have")
    parser.add_argument("--compile", action="store_true", help="run the manifests first, for variables that they set")
    parser.add_argument(
        "--explain", action="store_true", help="every layer, level and path that was tried, and what came of it"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    declare_exits(parser, {1: "no key has a value"})
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    inputs, _ = open_inputs(args)
    settings = Settings.puppet8() if args.strict else Settings()
    request = LookupRequest(tuple(args.keys), _merge(args), args.type, args.explain, args.compile)
    try:
        found = look_up(request, inputs, settings)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        raise failure.error from None
    print_logs(found.logs, inputs)
    value = args.default if found.key is None else filled(found.value, inputs)
    is_there = found.key is not None or args.default is not None
    if args.json:
        _print_document(found, value, is_there, inputs)
    else:
        _print_text(found, value, is_there, args, inputs)
    return 0 if is_there else 1


def _merge(args: argparse.Namespace) -> Any:
    options = {name: getattr(args, name) for name in _DEEP_OPTIONS if getattr(args, name)}
    if not options:
        return args.merge
    if args.merge != "deep":
        raise issues.ONLY_WITH_DEEP.error(
            name="--" + next(iter(options)).replace("knockout", "knock-out").replace("_", "-")
        )
    return Hash.of((("strategy", "deep"), *options.items()))


def _print_text(found: LookupResult, value: Any, is_there: bool, args: argparse.Namespace, inputs: Inputs) -> None:
    if found.explanation is not None:
        for line in _lines(found.explanation, inputs, ""):
            print(visible_lines(line))
    if not is_there:
        names = ", ".join(args.keys)
        print(f"precast: no value for {visible(names)}{visible(found.guess)}", file=sys.stderr)
        if not args.explain:
            print("  hint: --explain shows where it was looked for", file=sys.stderr)
    elif not args.explain:
        print(visible_lines(value if isinstance(value, str) else shown(value)))
    elif found.key is None:
        print(f"Using the default {shown(value)}")


def _print_document(found: LookupResult, value: Any, is_there: bool, inputs: Inputs) -> None:
    document: dict[str, Any] = {"found": found.key is not None, "key": found.key}
    if is_there:
        document["value"] = rich(_redacted(value))
    if found.guess:
        document["guess"] = found.guess.strip()
    if found.explanation is not None:
        document["steps"] = _tree(found.explanation, inputs)["steps"]
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
    """The steps below one, each a little to the right of what it is part of."""
    for each in step.steps:
        if isinstance(each, Step):
            yield f"{indent}{each.text}"
            for name, value in each.details:
                told = value if isinstance(value, str) else shown(value, f"{indent}  ")
                yield f"{indent}  {_DETAILS[name].format(told)}"
            yield from _lines(each, inputs, f"{indent}  ")
        else:
            yield f"{indent}{_outcome(each, inputs, indent)}"


def _outcome(note: tuple[str, Any], inputs: Inputs, indent: str) -> str:
    kind, value = note
    match kind:
        case "found":
            return f'Found key: "{value[0]}" value: {shown(filled(value[1], inputs), indent)}'
        case "not found":
            return f'No such key: "{value}"'
        case "result":
            return f"Merged result: {shown(filled(value, inputs), indent)}"
        case _:
            return str(value)


def _tree(step: Step, inputs: Inputs) -> dict[str, Any]:
    shown_steps: list[Any] = []
    for each in step.steps:
        if isinstance(each, Step):
            shown_steps.append(_tree(each, inputs))
        elif each[0] == "found":
            shown_steps.append({"found": each[1][0], "value": rich(_redacted(filled(each[1][1], inputs)))})
        elif each[0] == "result":
            shown_steps.append({"merged": rich(_redacted(filled(each[1], inputs)))})
        else:
            shown_steps.append({each[0].replace(" ", "_"): each[1]})
    details = {name: rich(value) for name, value in step.details}
    return {"step": step.text, **details, "steps": shown_steps}
