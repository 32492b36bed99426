"""Finds the errors and warnings of one file that can be found without a compile."""

import re
from typing import TYPE_CHECKING, Final

from precast.base import digests
from precast.base.errors import InputError, PrecastError
from precast.base.spans import Source
from precast.lang.issues import checks as issues_checks
from precast.lang.issues import compiler as issues
from precast.lang.issues import erb as issues_erb
from precast.lang.issues import syntax as issues_syntax
from precast.lang.syntax.checker import Findings, check, namespace_of
from precast.lang.syntax.parser import parse, parse_epp

if TYPE_CHECKING:
    from precast.lang.hiera.config import LayerKind

_MODULE_FILE: Final = re.compile(r"(?:^|/)[\w-]*modules/([a-z]\w*)/(?:manifests|functions)/.+\.pp\Z")
_HIERA: Final = re.compile(r"(?:(?:^|.*/)[\w-]*modules/[a-z]\w*/)?hiera\.yaml")
# Directories of a module that no compile reads.
_UNREAD: Final = re.compile(r"(?:^|/)(?:spec|examples|tests|plans|tasks|acceptance|vendor|pkg)/")


def is_checked(path: str) -> bool:
    """Whether a file of an environment is code that a compile could read."""
    if _UNREAD.search(path):
        return False
    if path.endswith(".erb"):
        return "/templates/" in f"/{path}"
    return path.endswith((".pp", ".epp")) or _HIERA.fullmatch(path) is not None


def validate_source(source: Source, path: str, *, is_template: bool, is_strict: bool = False) -> Findings:
    """The findings about a manifest or an EPP template: the first syntax error, or everything that the checker finds.

    `path` tells whether it is a file of a module, and of which.
    """
    module = _MODULE_FILE.search(path)
    namespace = namespace_of(path, module[1]) if module is not None else None
    try:
        program = parse_epp(source) if is_template else parse(source)
    except InputError as error:
        return Findings((error,), ())
    findings = check(program, namespace, is_strict)
    suspicions = [
        issues_syntax.SUSPICIOUS.error(source, warning.span, problem=warning.message) for warning in program.warnings
    ]
    return Findings(findings.errors, (*suspicions, *findings.warnings))


def validate_file(path: str, data: bytes) -> Findings:
    """Errors that forbid deploying a file that `is_checked`, and warnings for its owner.

    Code that may never be used does not block a deployment: Ruby that we do not render, and definitions in a file where the
    autoloader does not look for them.
    """
    try:
        source = Source(path, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Findings((issues.NOT_UTF8.error(Source(path, ""), path=path, offset=error.start),), ())
    if not path.endswith((".erb", ".yaml")):
        findings = validate_source(source, path, is_template=path.endswith(".epp"))
        misplaced = tuple(error for error in findings.errors if issues_checks.ILLEGAL_LOCATION.matches(error))
        return Findings(tuple(error for error in findings.errors if error not in misplaced), misplaced)
    try:
        _parse_other(source)
    except PrecastError as error:
        error.source = error.source or source
        return Findings((), (error,)) if issues_erb.NOT_IN_SUBSET.matches(error) else Findings((error,), ())
    return Findings((), ())


def _parse_other(source: Source) -> None:
    if source.path.endswith(".erb"):
        from precast.lang.ruby.erb.parser import parse_template  # imported late: large and rarely needed

        parse_template(source)
        return
    from precast.lang.hiera.config import read_config

    read_config(digests.of_bytes(source.text.encode()), source.text, source.path, _layer(source.path))


def _layer(path: str) -> "LayerKind":
    return "environment" if path == "hiera.yaml" else "module"
