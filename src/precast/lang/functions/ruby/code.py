"""Reads Ruby files of modules into closures, once for their content."""

from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.ruby.declarations.file_lexer import lex_file
from precast.lang.ruby.evaluation.closures import Closure
from precast.lang.ruby.evaluation.compiler import ClosureCompiler
from precast.lang.ruby.evaluation.frames import LocalScope
from precast.lang.ruby.methods import library
from precast.lang.ruby.syntax.parser import parse_tokens

library.load()

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
