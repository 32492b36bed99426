"""Reads the Ruby file of a function into closures, once for its content, and runs it once for each compile.

Running the file declares its functions and what they share: constants, classes and methods of the same file. Nothing outlives the compile.
"""

from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.ruby import puppet_classes
from precast.lang.functions.ruby.declarations import declared
from precast.lang.issues import erb as issues
from precast.lang.ruby.declarations.file_lexer import lex_file
from precast.lang.ruby.evaluation.closures import Closure
from precast.lang.ruby.evaluation.compiler import ClosureCompiler
from precast.lang.ruby.evaluation.frames import Frame, LocalScope
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods import library
from precast.lang.ruby.syntax.parser import parse_tokens

library.load()
puppet_classes.load()

_MAX_FILES = 2_000
MAX_BYTES = 512 * 1024


class RubyCode(NamedTuple):
    """A file as closures."""

    source: Source
    body: Closure
    scope: LocalScope


_codes: dict[tuple[str, str], RubyCode | PrecastError] = {}


def read_code(path: str, digest: str, text: str) -> RubyCode:
    """Return the closures of a file. Raises InputError LANG-900 or LANG-901."""
    key = (path, digest)
    code = _codes.get(key)
    if code is None:
        if len(_codes) >= _MAX_FILES:
            _codes.clear()
        code = _codes[key] = _compile(Source(path, text))
    if isinstance(code, PrecastError):
        raise code.copy()
    return code


def _compile(source: Source) -> RubyCode | PrecastError:
    if len(source.text) > MAX_BYTES:
        return issues.TOO_LARGE.error(limit=MAX_BYTES)
    try:
        compiler = ClosureCompiler(source)
        tokens = lex_file(source)
        return RubyCode(source, compiler.compile(parse_tokens(source, tokens[:-1])), compiler.scope)
    except RecursionError:
        return issues.TOO_DEEP.error()
    except PrecastError as error:
        return error


def has_code(text: str) -> bool:
    """Return whether a file has anything but blanks and comments."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


class RanFile(NamedTuple):
    """A file that has run: the state that its functions share, and the functions by their names."""

    execution: Execution
    functions: dict[str, Any]


def run_file(host: Any, code: RubyCode, scope: Any) -> RanFile:
    """Run a file at its top level. Raises the errors of its code."""
    execution = puppet_classes.CompileExecution(host, scope, is_concrete=True)
    try:
        code.body(Frame(execution, code.scope))
    except RecursionError:
        raise issues.TOO_DEEP.error() from None
    return RanFile(execution, declared(execution))
