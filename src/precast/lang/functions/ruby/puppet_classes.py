"""Puppet's own classes as functions of modules use them: logs, settings, comparisons, secrets, files of the environment, the scope.

Every read goes through the traced inputs; what is outside of the environment is refused.
"""

import datetime
import fnmatch
import posixpath
import re
from typing import Any

from precast.base.spans import Source
from precast.lang.functions.ruby.code import read_code
from precast.lang.functions.versioncmp import versioncmp
from precast.lang.issues import erb as issues
from precast.lang.issues import functions as function_issues
from precast.lang.ruby.errors import raised
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, method, of_class, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.stdlib import mersenne_twister as mersenne
from precast.lang.ruby.values import Instance, RubyScope, Symbol, from_ruby
from precast.lang.settings import PUPPET_VERSION
from precast.lang.values.base import Sensitive
from precast.lang.values.strftime import format_timestamp
from precast.lang.values.times import Timestamp

Args = list[Any]


class CompileExecution(Execution):
    """An execution in a compile, which may read files of the environment."""

    def __init__(self, host: Any, scope: Any, path: str) -> None:
        super().__init__(host, scope, is_concrete=True)
        self.path = path  # of the file whose top level runs
        self.required: dict[str, Source] = {}  # the files that the code has loaded, by path

    def require(self, name: str, *, is_relative: bool) -> bool:
        """Run a file of a module once, in this execution. Raises LANG-901 for a relative one that does not exist."""
        name = name if name.endswith(".rb") else f"{name}.rb"
        if is_relative:
            path: str | None = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), name))
        elif name.startswith("/"):
            path = self._inner(name)
        else:
            path = self.host.loader.module_file(f"lib/{name}")  # type: ignore[attr-defined]
        if path is None or path in self.required:
            return path is None
        found = self.host.inputs.text(path)  # type: ignore[attr-defined]
        if found is None:
            raise issues.NOT_IN_SUBSET.error(construct=f"the file {path}, which does not exist")
        self.required[path] = Source(path, found[1])
        before, self.path = self.path, path
        try:
            self.run_code(path, *found)
        finally:
            self.path = before
        return True

    def shown_path(self, path: str, *, is_directory: bool) -> str:
        """Return the path of a file as code sees it: below the place of the environment."""
        return str(self.host.shown_path(super().shown_path(path, is_directory=is_directory)))  # type: ignore[attr-defined]

    def run_code(self, path: str, digest: str, text: str) -> None:
        """Run a file at its top level."""
        code = read_code(path, digest, text)
        code.body(Frame(self, code.scope))

    def read_file(self, path: str) -> str:
        inner = self._inner(path)
        found = self.host.inputs.text(inner)  # type: ignore[attr-defined]
        if found is None:
            raise raised("Errno::ENOENT", f"No such file or directory @ rb_sysopen - {path}")
        return str(found[1])

    def has_file(self, path: str) -> bool:
        inner = self._inner(path)
        inputs = self.host.inputs  # type: ignore[attr-defined]
        return inputs.digest(inner) is not None or bool(inputs.listing(inner))

    def names_in(self, path: str) -> tuple[str, ...]:
        return tuple(self.host.inputs.listing(self._inner(path)))  # type: ignore[attr-defined]

    def _inner(self, path: str) -> str:
        inner = self.host.environment_path(path)  # type: ignore[attr-defined]
        if inner is None:
            raise function_issues.OUTSIDE_ENVIRONMENT.error(path=path)
        return str(inner)


# Logs and settings


def _declare_logs() -> None:
    for name in ("debug", "info", "notice", "warning", "err", "alert", "crit", "emerg"):

        def run(execution: Any, this: Constant, args: Args, block: Proc | None, level: str = name) -> None:
            text = args[0] if args else execution.yield_to(block) if block is not None else ""
            execution.host.log(level, plain_text(execution, text))

        of_class("Puppet Puppet::Util::Logging", name)(run)
        method("Function", name)(run)
        method("Scope", name)(run)


_declare_logs()


@of_class("Puppet", "warn_once", "deprecation_warning", "warnonce")
def _warn_once(execution: Any, this: Constant, args: Args, block: Proc | None) -> None:
    texts = [plain_text(execution, arg) for arg in args]
    execution.host.warn_once(texts[1] if len(texts) > 1 else texts[0], texts[2] if len(texts) > 2 else texts[0])


@of_class("Puppet", "version")
def _version(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    return PUPPET_VERSION


@of_class("Puppet", "[]")
def _setting(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return execution.look_up(f"settings::{plain_text(execution, args[0])}")


@of_class("Puppet", "settings")
def _settings(execution: Any, this: Constant, args: Args, block: Proc | None) -> Constant:
    return this


@of_class("Puppet", "lookup")
def _lookup(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    name = plain_text(execution, args[0])
    if name == "global_scope":
        return RubyScope(execution.host.top)
    if name == "current_environment":
        return RubyEnvironment()
    raise issues.NOT_IN_SUBSET.error(construct=f"Puppet.lookup(:{name})")


@of_class("Puppet", "features")
def _features(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="Puppet.features, which describes the server")


# Comparisons, random numbers that a seed determines, secrets


@of_class("Puppet::Util::Package", "versioncmp")
def _versioncmp(execution: Any, this: Constant, args: Args, block: Proc | None) -> int:
    return versioncmp(to_str(args[0]), to_str(args[1]))


@of_class("Puppet::Util", "absolute_path?")
def _is_absolute_path(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    path = to_str(args[0])
    if len(args) > 1 and isinstance(args[1], Symbol) and args[1].name == "windows":
        return re.match(r"(?:(?:[A-Z]:[\\/])|(?:[\\/]{2}[^\\/]))", path, re.IGNORECASE) is not None
    return path.startswith("/")


@of_class("Puppet::Util", "deterministic_rand", "deterministic_rand_int")
def _deterministic_rand(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return mersenne.draw(int(args[0]), int(args[1]))


class RubyRandom(Instance):
    """A generator of random numbers with a seed."""

    kind_name = "Random"

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.limit: int | None = None
        self.numbers: Any = None


@of_class("Random", "new")
def _new_random(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyRandom:
    if not args:
        raise issues.NOT_IN_SUBSET.error(construct="random numbers without a seed")
    return RubyRandom(int(args[0]))


@method("Random", "rand")
def _rand(execution: Any, this: RubyRandom, args: Args, block: Proc | None) -> int:
    if not args or not isinstance(args[0], int):
        raise issues.NOT_IN_SUBSET.error(construct="a random number that is no integer below a limit")
    if this.limit is None:
        this.limit, this.numbers = args[0], mersenne.draws(this.seed, args[0])
    elif this.limit != args[0]:
        raise issues.NOT_IN_SUBSET.error(construct="random numbers below several limits from one seed")
    return int(next(this.numbers))


@of_class("Puppet::Pops::Types::PSensitiveType::Sensitive", "new")
def _new_sensitive(execution: Any, this: Constant, args: Args, block: Proc | None) -> Sensitive:
    return Sensitive(from_ruby(args[0]))


# Files of the environment


@of_class("File IO Puppet::FileSystem", "read", "binread")
def _read(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    return str(execution.read_file(to_str(args[0])))


@of_class("File IO", "readlines", "foreach")
def _readlines(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return call_method(execution, execution.read_file(to_str(args[0])), "lines", [], None)


@of_class("File Puppet::FileSystem", "exist?", "exists?", "readable?")
def _exists(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return bool(_files(execution).has_file(to_str(args[0])))


@of_class("File", "file?")
def _is_file(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    path = to_str(args[0])
    return bool(_files(execution).has_file(path)) and not execution.names_in(path)


@of_class("File Dir", "directory?")
@of_class("Dir", "exist?")
def _is_directory(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return bool(_files(execution).names_in(to_str(args[0])))


@of_class("Dir", "entries", "children")
def _entries(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[str]:
    return [name.rstrip("/") for name in _files(execution).names_in(to_str(args[0]))]


@of_class("Dir", "glob", "[]")
def _glob(execution: Any, this: Constant, args: Args, block: Proc | None) -> list[str]:
    """Return the paths that match a pattern whose wild cards are in the last part."""
    directory, _, pattern = to_str(args[0]).rpartition("/")
    if set(directory) & set("*?[{"):
        raise issues.NOT_IN_SUBSET.error(construct="Dir.glob over several directories")
    names = [name.rstrip("/") for name in _files(execution).names_in(directory)]
    return [f"{directory}/{name}" for name in names if fnmatch.fnmatchcase(name, pattern) and name[0] != "."]


def _files(execution: Any) -> CompileExecution:
    if not isinstance(execution, CompileExecution):
        raise issues.NOT_IN_SUBSET.error(construct="files in a template")
    return execution


# Time: the moment at which the version was deployed


class RubyTime(Instance):
    """A moment."""

    kind_name = "Time"

    def __init__(self, moment: Timestamp) -> None:
        self.moment = moment

    def date(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.moment.ns // 1_000_000_000, datetime.UTC)


@of_class("Time", "now")
def _now(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyTime:
    if not isinstance(execution, CompileExecution):
        raise issues.NOT_IN_SUBSET.error(construct="Time.now")
    return RubyTime(execution.host.now())  # type: ignore[attr-defined]


@of_class("Time", "at")
def _at(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyTime:
    return RubyTime(Timestamp(int(float(args[0]) * 1_000_000_000)))


@method("Time", "to_i")
def _to_i(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> int:
    return this.moment.ns // 1_000_000_000


@method("Time", "to_f")
def _to_f(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> float:
    return this.moment.ns / 1_000_000_000


@method("Time", "utc", "getutc", "gmtime", "localtime")
def _utc(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> RubyTime:
    return this


@method("Time", "strftime")
def _strftime(execution: Any, this: RubyTime, args: Args, block: Proc | None) -> str:
    return format_timestamp(this.moment, to_str(args[0]))


def _declare_dates() -> None:
    for name in ("year", "month", "day", "hour", "minute", "second"):

        def run(execution: Any, this: RubyTime, args: Args, block: Proc | None, name: str = name) -> int:
            return int(getattr(this.date(), name))

        method("Time", {"minute": "min", "second": "sec"}.get(name, name))(run)


_declare_dates()


# The scope, and the function itself


class RubyEnvironment(Instance):
    """The environment of the compile."""

    kind_name = "Environment"


@method("Environment", "name", "to_s", "to_sym")
def _environment_name(execution: Any, this: RubyEnvironment, args: Args, block: Proc | None) -> Any:
    return execution.host.settings.environment


@method("Environment", "module")
def _environment_module(execution: Any, this: RubyEnvironment, args: Args, block: Proc | None) -> Any:
    return _module(execution, plain_text(execution, args[0]))


@of_class("Puppet::Module", "find")
def _find_module(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return _module(execution, plain_text(execution, args[0]))


class RubyModule(Instance):
    """A module of the environment."""

    kind_name = "Puppet::Module"

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path


def _module(execution: Any, name: str) -> RubyModule | None:
    directory = execution.host.module_directory(execution.scope, name)
    return None if directory is None else RubyModule(name, execution.host.shown_path(directory))


@method("Puppet::Module", "path")
def _module_path(execution: Any, this: RubyModule, args: Args, block: Proc | None) -> str:
    return this.path


@method("Puppet::Module", "name")
def _module_name(execution: Any, this: RubyModule, args: Args, block: Proc | None) -> str:
    return this.name


@method("Scope", "environment")
def _environment(execution: Any, this: RubyScope, args: Args, block: Proc | None) -> Any:
    if not isinstance(execution, CompileExecution):
        raise issues.NOT_IN_SUBSET.error(construct="the internals of the compiler")
    return RubyEnvironment()


@method("Scope", "find_global_scope")
def _global_scope(execution: Any, this: RubyScope, args: Args, block: Proc | None) -> RubyScope:
    return RubyScope(execution.host.top)


@method("Function", "closure_scope", "find_global_scope")
def _closure_scope(execution: Any, this: Any, args: Args, block: Proc | None) -> RubyScope:
    return RubyScope(execution.host.top)


@method("Function", "call_function")
def _call_function(execution: Any, this: Any, args: Args, block: Proc | None) -> Any:
    return execution.call_function(plain_text(execution, args[0]), args[1:], block)


@of_class("Puppet::Parser::Functions", "function")
def _function(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    name = plain_text(execution, args[0])
    return f"function_{name}" if execution.host.has_function(execution.scope, name.lower()) else False


@of_class("Puppet::Parser::Functions", "autoloader")
def _autoloader(execution: Any, this: Constant, args: Args, block: Proc | None) -> Constant:
    return this


@of_class("Puppet::Parser::Functions", "load", "loadall", "loaded?", "reset")
def _loaded(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return True


@of_class("Puppet::Parser::Functions", "rvalue?", "arity")
def _rvalue(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="the kinds of other functions")


@of_class("Puppet::Pops::Types::TypeCalculator", "instance?")
def _is_instance(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return bool(args[0].check(from_ruby(args[1])))


@of_class("Puppet::Pops::Types::TypeCalculator", "infer", "infer_set", "singleton", "instance")
def _infer(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    from precast.lang.datatypes import infer

    return infer(from_ruby(args[0])) if args else this
