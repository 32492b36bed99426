"""`precast net simulate`: prints the schedule of a net as a table, its critical path, and the effect of changes."""

import argparse

from precast.base.spans import visible
from precast.cli.console.output import print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.net.sources import read_net
from precast.net.execution import whatif
from precast.net.execution.simulation import Plan, simulate
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import Outcome
from precast.net.model.durations import format_duration
from precast.net.model.structure import Net

EXIT_STUCK = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `simulate`."""
    parser.add_argument(
        "--with",
        dest="durations",
        action="append",
        default=[],
        metavar="NAME=TIME",
        help="assume that NAME takes TIME (such as 1m30s)",
    )
    parser.add_argument(
        "--limit",
        dest="limits",
        action="append",
        default=[],
        metavar="NAME=N",
        help="assume that NAME starts with N tokens",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="assume that NAME does not exist; the order of the others stays",
    )
    parser.add_argument("--fail", action="append", default=[], metavar="NAME", help="assume that NAME fails")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_simulate)
    declare_exits(parser, {EXIT_STUCK: "the net gets stuck, or the simulation was cut off"})


def _simulate(args: argparse.Namespace) -> int:
    net = read_net(args.file)
    changed = _changed(net, args)
    failing = {
        changed.transitions_by_name[whatif.find_transition(changed.declared, name).name]: Outcome.FAILURE
        for name in args.fail
    }
    plan = simulate(changed, failing)
    is_changed = bool(args.durations or args.limits or args.without or args.fail)
    before = simulate(net) if is_changed else None
    if args.json:
        print_json(_as_json(changed, plan, before))
    else:
        _print_plan(changed, plan, before)
    return EXIT_STUCK if plan.stuck or plan.is_cut else 0


def _changed(net: Net, args: argparse.Namespace) -> Net:
    declared = net.declared
    for change in args.durations:
        declared = whatif.change_duration(declared, change)
    for change in args.limits:
        declared = whatif.change_limit(declared, change)
    for name in args.without:
        declared = whatif.remove_transition(declared, name)
    return compile_net(declared)


def _print_plan(net: Net, plan: Plan, before: Plan | None) -> None:
    critical = set(plan.critical)
    rows = [
        (
            "*" if number in critical else "",
            format_duration(run.start_ms),
            format_duration(run.end_ms),
            format_duration(plan.slack_ms[number]),
            run.outcome.name.lower(),
            net.transition_name(run.transition),
        )
        for number, run in enumerate(plan.runs)
    ]
    print_table(("", "start", "end", "slack", "outcome", "work"), rows)
    print(f"\ntakes {format_duration(plan.makespan_ms)}{_compared(plan, before)}")
    names = (visible(net.transition_name(plan.runs[number].transition)) for number in plan.critical)
    print(f"critical path (*): {' → '.join(names) or 'nothing runs'}")
    for use in plan.uses:
        print(
            f"limit {visible(net.place_name(use.place))}: {use.share:.0%} busy, at most {use.most} of {use.tokens} at once"
        )
    for sentence in plan.stuck:
        print(f"stuck: {visible(sentence)}")
    if plan.is_cut:
        print(f"cut off after {len(plan.runs)} runs: the net may loop")


def _compared(plan: Plan, before: Plan | None) -> str:
    if before is None:
        return ""
    change_ms = plan.makespan_ms - before.makespan_ms
    if not change_ms:
        return ", the same as without the changes"
    word = "longer" if change_ms > 0 else "shorter"
    return (
        f", {format_duration(abs(change_ms))} {word} than without the changes ({format_duration(before.makespan_ms)})"
    )


def _as_json(net: Net, plan: Plan, before: Plan | None) -> dict[str, object]:
    critical = set(plan.critical)
    return {
        "net": net.declared.name,
        "makespan_ms": plan.makespan_ms,
        "makespan_without_changes_ms": before.makespan_ms if before else None,
        "critical_path": [net.transition_name(plan.runs[number].transition) for number in plan.critical],
        "runs": [
            {
                "name": net.transition_name(run.transition),
                "start_ms": run.start_ms,
                "end_ms": run.end_ms,
                "slack_ms": plan.slack_ms[number],
                "outcome": run.outcome.name.lower(),
                "critical": number in critical,
            }
            for number, run in enumerate(plan.runs)
        ],
        "limits": [{"name": net.place_name(use.place), **use._asdict()} for use in plan.uses],
        "stuck": list(plan.stuck),
        "cut": plan.is_cut,
    }
