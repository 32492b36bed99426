"""`precast boot validate`: checks user data and network configurations before a machine boots with them."""

import argparse
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import render, visible
from precast.cli.console.parser import declare_exits

EXIT_PROBLEMS = 1


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    summary = "check user data or a network configuration"
    parser = commands.add_parser("validate", help=summary, description=summary)
    parser.add_argument("paths", metavar="FILE", nargs="+", help="a file, or - for standard input")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    declare_exits(parser, {EXIT_PROBLEMS: "a file has errors"})
    parser.set_defaults(run=_validate)


def _validate(args: argparse.Namespace) -> int:
    from precast.boot.validation import validate
    from precast.cli.console.files import read_bytes
    from precast.cli.console.output import print_json

    problems = [problem for path in args.paths for problem in validate(path, read_bytes(path))]
    errors = sum(not problem.is_warning or args.strict for problem in problems)
    if args.json:
        findings = [_as_json(problem.error, "warning" if problem.is_warning else "error") for problem in problems]
        print_json({"files": len(args.paths), "valid": errors == 0, "findings": findings})
    else:
        for problem in problems:
            print(_render(problem.error, "warning" if problem.is_warning else "error"))
        print(
            f"{_count(len(args.paths), 'file')}: {_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}"
        )
    return EXIT_PROBLEMS if errors else 0


def _render(error: PrecastError, severity: str) -> str:
    if error.source is not None and error.span is not None:
        return render(error.source, error.span, severity, error.message, error.code, error.hint)
    return f"{severity}: {visible(error.message)} [{error.code}]" + (
        f"\n  hint: {visible(error.hint)}" if error.hint else ""
    )


def _as_json(error: PrecastError, severity: str) -> dict[str, Any]:
    place: dict[str, Any] = {}
    if error.source is not None:
        place["file"] = error.source.path
        if error.span is not None:
            at = error.source.position(error.span.start)
            place |= {"line": at.line, "column": at.column}
    return {"severity": severity, "code": error.code, "message": error.message, "hint": error.hint, **place}


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
