"""`precast net check`: reports what is known about one net in full, or about many nets in a line each.

Of many nets each is checked by itself: one that cannot be read is reported in its line, and the others follow.
"""

import argparse
from collections import Counter

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.cli.net.checked import Checked, check_file
from precast.cli.net.sources import find_nets, is_single
from precast.net import issues as net_issues
from precast.net.analysis import check as checking
from precast.net.analysis.deadlock import Verdict
from precast.net.model.compiler import MOST, read_count
from precast.net.model.durations import parse_duration
from precast.net.model.plain_net import firing_name
from precast.net.model.structure import Net

# Findings are a result of the command, not an error of it.
EXIT_PROBLEMS, EXIT_NOT_PROVEN = 1, 2
_WORDS = {
    Verdict.FOUND: "deadlock found",
    Verdict.FREE: "no deadlock",
    Verdict.NOT_PROVEN: "not proven within the bound",
}
# How the nets of a directory are counted.
_KINDS: dict[Verdict | None, str] = {
    Verdict.FOUND: "with deadlock",
    Verdict.FREE: "without deadlock",
    Verdict.NOT_PROVEN: "not proven",
    None: "not read",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a net in the text notation or PNML, a directory for all *.pnml below it, or - for standard input",
    )
    parser.add_argument(
        "--bound", type=_positive, metavar="N", help="visit at most N states of a net in the search for deadlocks"
    )
    parser.add_argument(
        "--within",
        type=_duration,
        metavar="TIME",
        help="search each net for at most this time, and without --bound for as many states as memory holds (default: 60s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_run)
    declare_exits(
        parser,
        {
            EXIT_PROBLEMS: "a net has a problem",
            EXIT_NOT_PROVEN: "no problem was found, but the search ended before it could prove that there is no deadlock",
        },
    )


def _positive(text: str) -> int:
    if (number := read_count(text, 1)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST}")
    return number


def _duration(text: str) -> float:
    if not (duration_ms := parse_duration(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90s or 1m30s")
    return duration_ms / 1000


def _run(args: argparse.Namespace) -> int:
    if not is_single(args.files):
        return _check_many(args)
    checked = check_file(args.files[0], args.bound, args.within)
    if checked.error:
        raise checked.error
    assert checked.report is not None, "a check without an error has a report"
    if args.json:
        print_json(_as_json(checked))
    else:
        _print_report(checked.net, checked.report)
    return _exit_code(checked)


def _check_many(args: argparse.Namespace) -> int:
    codes, entries, counts = list[int](), [], Counter[Verdict | None]()
    for path in find_nets(args.files):
        # Only results stay: the nets of a directory may be larger than memory.
        checked = check_file(path, args.bound, args.within)
        if args.json:
            entries.append(_entry(checked))
        else:
            print(_line(checked), flush=True)
        codes.append(_exit_code(checked))
        counts[checked.verdict] += 1
    if args.json:
        print_json({"nets": entries, "counts": {word: counts[verdict] for verdict, word in _KINDS.items()}})
    else:
        words = ", ".join(f"{counts[verdict]} {word}" for verdict, word in _KINDS.items())
        print(f"{_count(len(codes), 'net')}: {words}")
    return _worst(codes)


def _exit_code(checked: Checked) -> int:
    if checked.error:
        return checked.error.consequence.exit_code
    assert checked.report is not None, "a check without an error has a report"
    return {True: 0, False: EXIT_PROBLEMS, None: EXIT_NOT_PROVEN}[checked.report.is_sound]


def _worst(codes: list[int]) -> int:
    """A problem comes first, then an error, then what is not proven."""
    return EXIT_PROBLEMS if EXIT_PROBLEMS in codes else max(codes)


def _line(checked: Checked) -> str:
    path, time_text = visible(checked.path), f"{checked.elapsed_s:.1f} s"
    if checked.error:
        return f"{path}: not read: {visible(checked.error.message)} [{checked.error.code}]"
    assert checked.report is not None, "a check without an error has a report"
    findings = checked.report.findings
    others = sum(finding.severity == "error" and finding.code != net_issues.DEADLOCK.code for finding in findings)
    more = f", {_count(others, 'other problem')}" if others else ""
    return f"{path}: {_size(checked.net)}{_WORDS[checked.report.deadlock.verdict]}{more}, {time_text}"


def _size(net: Net | None) -> str:
    if net is None:
        return ""
    declared = net.declared
    return f"{_count(len(declared.places), 'place')}, {_count(len(declared.transitions), 'transition')}: "


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _print_report(net: Net | None, report: checking.Report) -> None:
    for finding in report.findings:
        print(f"{finding.severity}: {visible(finding.message)} [{finding.code}]\n  hint: {visible(finding.hint)}")
    answer = report.deadlock
    if answer.verdict == Verdict.FREE:
        states = f" ({answer.states} states)" if answer.states else ""
        print(f"no deadlock: {answer.reason}{states}")
    if net is None:
        return
    transitions = net.declared.transitions
    steps = sum(transition.is_step for transition in transitions)
    counts = {"step": steps, "transition": len(transitions) - steps, "place": len(net.declared.places)}
    print(f"{visible(net.declared.name)}: {', '.join(_count(count, word) for word, count in counts.items())}")


def _entry(checked: Checked) -> dict[str, object]:
    """What `--json` says of one of several files."""
    head: dict[str, object] = {"path": checked.path, "elapsed_s": round(checked.elapsed_s, 3)}
    if error := checked.error:
        return {**head, "sound": None, "error": {"code": error.code, "message": error.message, "hint": error.hint}}
    return {**head, **_as_json(checked)}


def _as_json(checked: Checked) -> dict[str, object]:
    net, report = checked.net, checked.report
    assert report is not None, "only what has a report is printed"
    answer = report.deadlock
    return {
        "net": net.declared.name if net else None,
        "places": len(net.declared.places) if net else None,
        "transitions": len(net.declared.transitions) if net else None,
        "sound": report.is_sound,
        "findings": [finding._asdict() for finding in report.findings],
        "deadlock": {
            "verdict": answer.verdict.value,
            "reason": answer.reason,
            "states": answer.states,
            "trace": [firing_name(net, firing) for firing in answer.trace] if net else [],
        },
    }
