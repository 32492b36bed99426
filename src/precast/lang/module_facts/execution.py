"""One run of the facts of all modules: their code shares constants, methods and global variables, as in one process of Ruby."""

import posixpath
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NoReturn

from precast.base.errors import PrecastError
from precast.lang.functions.ruby import puppet_classes  # noqa: F401 - declares versioncmp and the like
from precast.lang.functions.ruby.code import read_code
from precast.lang.issues import erb as issues
from precast.lang.module_facts.node import LimitReached, Node
from precast.lang.module_facts.tables import CLASS_METHODS, FUNCTIONS
from precast.lang.ruby.errors import raised
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Execution

# Where the code believes its files to be: `__FILE__` of lib/facter/x.rb of the module m is /modules/m/lib/facter/x.rb.
CODE_ROOT: Final = "/modules"
# Libraries that `require` finds: Ruby's own, and those that every Puppet has. Their use may be refused all the same.
_LIBRARIES: Final = frozenset((
    "English", "abbrev", "augeas", "base64", "benchmark", "bigdecimal", "cgi", "csv", "date", "delegate", "digest", "erb", "etc", "facter",
    "fcntl", "fileutils", "find", "forwardable", "hocon", "io", "ipaddr", "iconv", "json", "logger", "monitor", "multi_json", "net",
    "observer", "open-uri", "open3", "openssl", "optparse", "ostruct", "pathname", "pp", "pstore", "psych", "puppet", "puppet_x", "resolv",
    "ripper", "rexml", "rubygems", "securerandom", "semantic_puppet", "set", "shellwords", "singleton", "socket", "stringio", "strscan",
    "syslog", "tempfile", "thread", "time", "timeout", "tmpdir", "tsort", "uri", "weakref", "yaml", "zlib", "deep_merge", "concurrent",
))  # fmt: skip


class _NoCompile:
    """Stands where other code has its compile: facts are collected before anything is compiled."""

    def __getattr__(self, name: str) -> Any:
        raise issues.NOT_IN_SUBSET.error(construct=f"the compile ({name})")


class FactExecution(Execution):
    """Runs the files of facts. `files` has their texts by path: `m/lib/facter/x.rb`."""

    class_methods: ClassVar[Mapping[str, Mapping[str, Any]]] = CLASS_METHODS
    functions: ClassVar[Mapping[str, Any]] = FUNCTIONS

    def __init__(self, node: Node, files: Mapping[str, str]) -> None:
        super().__init__(_NoCompile(), None, is_concrete=True)
        self.node = node
        self.files = files
        self.path = ""  # of the file whose top level runs
        self.environment = node.environment()
        self.facts: Any = None  # the collection, which is made for this execution
        self._loaded: set[str] = set()

    # Files of code

    def load(self, path: str) -> bool:
        """Run a file at its top level, once. Raises the errors of its code."""
        if path in self._loaded:
            return False
        self._loaded.add(path)
        before, self.path = self.path, path
        try:
            code = read_code(path, self.files[path], self.files[path])
            code.body(Frame(self, code.scope))
        except RecursionError:
            raise issues.TOO_DEEP.error() from None
        finally:
            self.path = before
        return True

    def require(self, name: str, *, is_relative: bool) -> bool:
        """Load a file of a module, or nothing for a library. Raises Ruby's LoadError for what nobody has."""
        file = name if name.endswith(".rb") else f"{name}.rb"
        if is_relative:
            file = posixpath.join(posixpath.dirname(f"{CODE_ROOT}/{self.path}"), file)
        path = self.code_path(file) if file.startswith("/") else self._library_path(file)
        if path is not None:
            return self.load(path)
        if name.startswith("/") or is_relative or name.partition("/")[0] not in _LIBRARIES:
            raise raised("LoadError", f"cannot load such file -- {name}")
        return True

    def _library_path(self, file: str) -> str | None:
        return next((path for path in self.files if path.partition("/lib/")[2] == file), None)

    def code_path(self, path: str) -> str | None:
        """The path in `files` of an absolute path that code was shown; None for other paths."""
        inner = posixpath.normpath(path).removeprefix(f"{CODE_ROOT}/")
        return inner if inner in self.files else None

    def shown_path(self, path: str, *, is_directory: bool) -> str:
        return super().shown_path(f"{CODE_ROOT}/{path}", is_directory=is_directory)

    # What other parts of the subset ask

    def read_file(self, path: str) -> str:
        code = self.code_path(path)
        return self.files[code] if code is not None else self.node.read(path)

    def read_ivar(self, name: str) -> Any:
        return self.ivars.get(name)

    def has_ivar(self, name: str) -> bool:
        return name in self.ivars

    def look_up(self, name: Any) -> Any:
        raise issues.NOT_IN_SUBSET.error(construct="variables of a compile")

    def has_method(self, this: Any, name: str) -> bool:
        own = self.class_methods.get(getattr(this, "name", ""), {}) if this is not None else self.functions
        return name in own or super().has_method(this, name)


def refuse(construct: str) -> NoReturn:
    raise issues.NOT_IN_SUBSET.error(construct=construct)


def limit_error(error: LimitReached) -> PrecastError:
    """The error of a limit of the collection, which no code rescues."""
    return issues.NOT_IN_SUBSET.error(construct=str(error))
