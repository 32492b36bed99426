"""What is wrong with one file, as far as that can be told without compiling anything."""

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
# Parts of a module that no compile reads.
_UNREAD: Final = re.compile(r"(?:^|/)(?:spec|examples|tests|plans|tasks|acceptance|vendor|pkg)/")


def is_checked(path: str) -> bool:
    """Whether a file of an environment is code that a compile could read."""
    if _UNREAD.search(path):
        return False
    if path.endswith(".erb"):
        return "/templates/" in f"/{path}"
    return path.endswith((".pp", ".epp")) or _HIERA.fullmatch(path) is not None


def look(source: Source, path: str, *, is_template: bool, is_strict: bool = False) -> Findings:
    """The findings about a manifest or an EPP template: the first syntax error, or if it can be read all that the checker finds.

    `path` says whether it is a module's file, and which.
    """
    module = _MODULE_FILE.search(path)
    namespace = namespace_of(path, module[1]) if module is not None else None
    try:
        program = parse_epp(source) if is_template else parse(source)
    except InputError as error:
        return Findings((error,), ())
    found = check(program, namespace, is_strict)
    suspicions = [issues_syntax.SUSPICIOUS.error(source, each.span, problem=each.message) for each in program.warnings]
    return Findings(found.errors, (*suspicions, *found.warnings))


def look_at_file(path: str, data: bytes) -> Findings:
    """What forbids to deploy a file that `is_checked`, and what its owner should know.

    What may never be asked for is no reason to refuse everything else: Ruby that we do not render, and definitions in a place where
    nobody looks for them.
    """
    try:
        source = Source(path, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Findings((issues.NOT_UTF8.error(Source(path, ""), path=path, offset=error.start),), ())
    if not path.endswith((".erb", ".yaml")):
        found = look(source, path, is_template=path.endswith(".epp"))
        misplaced = tuple(each for each in found.errors if issues_checks.ILLEGAL_LOCATION.matches(each))
        return Findings(tuple(each for each in found.errors if each not in misplaced), misplaced)
    try:
        _read_other(source)
    except PrecastError as error:
        error.source = error.source or source
        return Findings((), (error,)) if issues_erb.NOT_IN_SUBSET.matches(error) else Findings((error,), ())
    return Findings((), ())


def _read_other(source: Source) -> None:
    if source.path.endswith(".erb"):
        from precast.lang.ruby.syntax.parser import parse as parse_erb  # large, and rare

        parse_erb(source)
        return
    from precast.lang.hiera.config import config

    config(digests.of_bytes(source.text.encode()), source.text, source.path, _layer(source.path))


def _layer(path: str) -> "LayerKind":
    return "environment" if path == "hiera.yaml" else "module"
