"""`precast validate`: checks the syntax of manifests and templates without compiling them."""

import argparse
from pathlib import Path
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import render
from precast.cli import issues
from precast.cli.console.files import read_source
from precast.cli.console.output import print_json
from precast.lang.syntax.checker import NOWHERE
from precast.lang.syntax.validation import validate_source

# Findings are a result of the command, not an error of it.
EXIT_PROBLEMS = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "paths",
        metavar="FILE",
        nargs="+",
        help="a manifest (.pp), a template (.epp), a directory to search for both, or - for standard input",
    )
    parser.add_argument("--epp", action="store_true", help="standard input is a template")
    parser.add_argument("--strict", action="store_true", help="as Puppet 8: an error where Puppet 7 warns")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_validate)


def _validate(args: argparse.Namespace) -> int:
    paths = [file for path in args.paths for file in _files(path)]
    findings: list[tuple[str, PrecastError]] = []
    for path in paths:
        source = read_source(path, keeps_mark=True)
        is_template = path.endswith(".epp") or (path == "-" and args.epp)
        place = "" if path == "-" else str(Path(path).absolute())
        result = validate_source(source, place, is_template=is_template, is_strict=args.strict)
        file_findings = [("error", error) for error in result.errors]
        file_findings += [("warning", warning) for warning in result.warnings]
        findings += sorted(file_findings, key=lambda finding: finding[1].span or NOWHERE)
    errors = sum(severity == "error" for severity, _ in findings)
    if args.json:
        print_json(
            {"files": len(paths), "valid": errors == 0, "findings": [_as_json(*finding) for finding in findings]}
        )
    else:
        for severity, error in findings:
            print(_render(severity, error))
        _print_summary(len(paths), errors, len(findings) - errors)
    return EXIT_PROBLEMS if errors else 0


def _files(path: str) -> list[str]:
    """The file itself, or all manifests and templates below a directory, sorted by name."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    files = sorted(str(file) for file in Path(path).rglob("*") if file.suffix in (".pp", ".epp") and file.is_file())
    if not files:
        raise issues.NOTHING_TO_VALIDATE.error(path=path)
    return files


def _render(severity: str, error: PrecastError) -> str:
    assert error.source is not None
    assert error.span is not None
    return render(error.source, error.span, severity, error.message, error.code, error.hint)


def _as_json(severity: str, error: PrecastError) -> dict[str, Any]:
    assert error.source is not None
    assert error.span is not None
    start, end = error.source.position(error.span.start), error.source.position(error.span.end)
    return {
        "path": error.source.path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "severity": severity,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
    }


def _print_summary(files: int, errors: int, warnings: int) -> None:
    counts = [_count(files, "file")]
    counts += [_count(errors, "error")] if errors else []
    counts += [_count(warnings, "warning")] if warnings else []
    print(f"{', '.join(counts)}{'' if errors else ': valid'}")


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
