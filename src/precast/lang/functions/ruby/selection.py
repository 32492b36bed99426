"""Decides what runs for a function that a module has in Ruby: our own implementation, or the file itself in the Ruby subset.

An implementation of ours stands for known versions of the file only, by their digests. Any other version of the file is executed. If the
subset cannot run that version, ours runs with a warning: the function may differ.
"""

from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.lang.functions.modules import library as native_functions
from precast.lang.functions.modules.pins import PINS
from precast.lang.functions.registry import Function
from precast.lang.functions.ruby.calls import RubyFunction
from precast.lang.functions.ruby.code import has_code, read_code
from precast.lang.functions.ruby.files import run_file
from precast.lang.issues import functions as issues


class RubyFile(NamedTuple):
    """The file in which a module defines a function."""

    name: str
    path: str
    digest: str
    text: str


def native_for(file: RubyFile) -> Function | None:
    """Return our implementation of exactly this file; a file without code defines nothing that could differ from ours."""
    native = native_functions.find(file.name)
    if native is None or not has_code(file.text):
        return native
    return native if file.digest[:16] in PINS.get(file.name, ()) else None


def select(host: Any, scope: Any, file: RubyFile) -> "Function | RubyFunction":
    """Return what runs. Raises InputError LANG-471 with the reason if nothing can."""
    native = native_for(file)
    if native is not None:
        return native
    try:
        return load(host, scope, file)
    except PrecastError as error:
        other = native_functions.find(file.name)
        if other is None:
            raise cannot_run(file, error) from error
        host.warn_once(f"function {file.name}", issues.OTHER_VERSION.error(name=file.name, path=file.path).message)
        return other


def load(host: Any, scope: Any, file: RubyFile) -> RubyFunction:
    """Run the file and return its function. Raises the error of its code, or LANG-471 if it defines another function."""
    ran = run_file(host, read_code(file.path, file.digest, file.text), scope)
    function = next((found for name, found in ran.functions.items() if name.lower() == file.name), None)
    if function is None:
        raise issues.RUBY_FUNCTION.error(
            name=file.name, module=_module(file.path), path=file.path, reason="the file does not define it"
        )
    return RubyFunction(file.name, file.path, ran, function)


def cannot_run(file: RubyFile, error: PrecastError) -> PrecastError:
    """Return the error LANG-471 with the place and the reason."""
    if error.code == issues.RUBY_FUNCTION.code:
        return error
    place = file.path
    if error.source is not None and error.span is not None:
        place = f"{error.source.path}:{error.source.position(error.span.start).line}"
    return issues.RUBY_FUNCTION.error(name=file.name, module=_module(file.path), path=place, reason=error.message)


def _module(path: str) -> str:
    return path.partition("/lib/puppet/")[0].rpartition("/")[2]
