"""The tables of what only facts may call: methods of built-in classes, and functions without a receiver.

They are apart from those of all Ruby code, so that no template or function can reach a node's files or commands.
"""

import errno
from collections.abc import Callable
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.module_facts.node import LimitReached
from precast.lang.ruby.errors import raised

CLASS_METHODS: dict[str, dict[str, Any]] = {}
FUNCTIONS: dict[str, Any] = {}

_ERRNO = {
    errno.ENOENT: ("Errno::ENOENT", "No such file or directory"),
    errno.EACCES: ("Errno::EACCES", "Permission denied"),
    errno.EPERM: ("Errno::EPERM", "Operation not permitted"),
    errno.ENOTDIR: ("Errno::ENOTDIR", "Not a directory"),
    errno.EISDIR: ("Errno::EISDIR", "Is a directory"),
    errno.EINVAL: ("Errno::EINVAL", "Invalid argument"),
    errno.ELOOP: ("Errno::ELOOP", "Too many levels of symbolic links"),
    errno.EIO: ("Errno::EIO", "Input/output error"),
}


def fact_class(constants: str, *names: str) -> Callable[[Any], Any]:
    """Declare a method of built-in classes or modules themselves; errors of the system become those of Ruby."""

    def add(function: Any) -> Any:
        wrapped = _with_ruby_errors(function)
        for constant in constants.split():
            for name in names:
                CLASS_METHODS.setdefault(constant, {})[name] = wrapped
        return function

    return add


def fact_function(*names: str) -> Callable[[Any], Any]:
    """Declare a function that is called without a receiver, or on Kernel."""

    def add(function: Any) -> Any:
        wrapped = _with_ruby_errors(function)
        for name in names:
            FUNCTIONS[name] = wrapped
            CLASS_METHODS.setdefault("Kernel", {})[name] = lambda execution, this, args, block: wrapped(
                execution, args, block
            )
        return function

    return add


def _with_ruby_errors(function: Any) -> Any:
    def run(*given: Any) -> Any:
        try:
            return function(*given)
        except TimeoutError:
            raise raised("Timeout::Error", "execution expired") from None
        except OSError as error:
            raise system_error(error) from None
        except LimitReached as limit:
            raise issues.NOT_IN_SUBSET.error(construct=str(limit)) from None

    return run


def system_error(error: OSError) -> Exception:
    """The exception of Ruby for an error of the system."""
    kind, text = _ERRNO.get(error.errno or 0, ("SystemCallError", error.strerror or str(error)))
    return raised(kind, f"{text} - {error.filename}" if error.filename else text)
