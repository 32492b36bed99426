"""Runs the Ruby file of a function, once for each compile.

Running the file declares its functions and what they share: constants, classes and methods of the same file, and of the files of modules
that it requires. Nothing outlives the compile.
"""

from typing import Any, NamedTuple

from precast.lang.functions.ruby.code import RubyCode
from precast.lang.functions.ruby.declarations import declared
from precast.lang.functions.ruby.puppet_classes import CompileExecution
from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.frames import Frame


class RanFile(NamedTuple):
    """A file that has run: the state that its functions share, and the functions by their names."""

    execution: CompileExecution
    functions: dict[str, Any]


def run_file(host: Any, code: RubyCode, scope: Any) -> RanFile:
    """Run a file at its top level. Raises the errors of its code."""
    execution = CompileExecution(host, scope, code.source.path)
    try:
        code.body(Frame(execution, code.scope))
    except RecursionError:
        raise issues.TOO_DEEP.error() from None
    return RanFile(execution, declared(execution))
