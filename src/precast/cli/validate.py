"""`precast validate`: whether manifests and templates are well-formed, without compiling anything."""

import argparse
import re
from pathlib import Path
from typing import Any, Final

from precast.base.errors import InputError, PrecastError
from precast.base.spans import Source, render
from precast.cli import issues
from precast.cli.files import read_source
from precast.cli.output import print_json
from precast.lang import issues_syntax
from precast.lang.checker import NOWHERE, Findings, check, namespace_of
from precast.lang.parser import parse, parse_epp

# What validation finds is no error of the command.
EXIT_PROBLEMS = 1
_MODULE_FILE: Final = re.compile(r"(?:^|/)modules/([a-z]\w*)/(?:manifests|functions)/.+\.pp\Z")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "paths",
        metavar="FILE",
        nargs="+",
        help="a manifest (.pp), a template (.epp), a directory to search for both, or - for standard input",
    )
    parser.add_argument("--epp", action="store_true", help="what comes from standard input is a template")
    parser.add_argument("--strict", action="store_true", help="as Puppet 8: an error where Puppet 7 warns")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_validate)


def _validate(args: argparse.Namespace) -> int:
    paths = [found for path in args.paths for found in _files(path)]
    findings: list[tuple[str, PrecastError]] = []
    for path in paths:
        source = read_source(path, keeps_mark=True)
        found = _look(source, path, path.endswith(".epp") or (path == "-" and args.epp), args.strict)
        each = [("error", error) for error in found.errors] + [("warning", warning) for warning in found.warnings]
        findings += sorted(each, key=lambda finding: finding[1].span or NOWHERE)
    errors = sum(severity == "error" for severity, _ in findings)
    if args.json:
        print_json({"files": len(paths), "valid": errors == 0, "findings": [_as_json(*each) for each in findings]})
    else:
        for severity, error in findings:
            print(_rendered(severity, error))
        _print_summary(len(paths), errors, len(findings) - errors)
    return EXIT_PROBLEMS if errors else 0


def _files(path: str) -> list[str]:
    """A file by itself; of a directory all manifests and templates below it, in the order of their names."""
    if path == "-" or not Path(path).is_dir():
        return [path]
    found = sorted(str(each) for each in Path(path).rglob("*") if each.suffix in (".pp", ".epp") and each.is_file())
    if not found:
        raise issues.NOTHING_TO_VALIDATE.error(path=path)
    return found


def _look(source: Source, path: str, is_template: bool, is_strict: bool) -> Findings:
    """What is wrong with a file: the first syntax error, or if it can be read all that the checker finds."""
    module = _MODULE_FILE.search(str(Path(path).absolute()))
    namespace = namespace_of(path, module[1]) if module is not None and path != "-" else None
    try:
        program = parse_epp(source) if is_template else parse(source)
    except InputError as error:
        return Findings((error,), ())
    found = check(program, namespace, is_strict)
    suspicions = [issues_syntax.SUSPICIOUS.error(source, each.span, problem=each.message) for each in program.warnings]
    return Findings(found.errors, (*suspicions, *found.warnings))


def _rendered(severity: str, error: PrecastError) -> str:
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
    counts = [_counted(files, "file")]
    counts += [_counted(errors, "error")] if errors else []
    counts += [_counted(warnings, "warning")] if warnings else []
    print(f"{', '.join(counts)}{'' if errors else ': valid'}")


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
