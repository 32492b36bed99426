"""`File`, `Dir`, `IO` and `FileTest` of facts: they read the node's files and never write."""

import posixpath
from typing import Any, Final

from precast.lang.functions.ruby.puppet_classes import RubyTime
from precast.lang.module_facts import globs
from precast.lang.module_facts.commands import start
from precast.lang.module_facts.execution import CODE_ROOT, refuse
from precast.lang.module_facts.node import FileStatus
from precast.lang.module_facts.tables import fact_class
from precast.lang.ruby.methods.dispatch import call_method, method, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Instance, Symbol
from precast.lang.values.times import Timestamp

Args = list[Any]
FILES: Final = "File FileTest Puppet::FileSystem"


class OpenFile(Instance):
    """An open file, the output of a command, or a StringIO: its text, and how far it was read."""

    kind_name = "File"

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path
        self.at = 0


class RubyStatus(Instance):
    """What `File.stat` returns."""

    kind_name = "File::Stat"

    def __init__(self, status: FileStatus) -> None:
        self.status = status


def _path(execution: Any, value: Any) -> str:
    """The path that an argument names; one that the code was shown as its own stays as it is."""
    path = value.path if isinstance(value, OpenFile) else to_str(value)
    return path if path.startswith("/") else f"/{path}"


def _status(execution: Any, path: str, *, follows: bool = True) -> FileStatus | None:
    """The status of a file, or of a file of the code itself."""
    if execution.code_path(path) is not None:
        return FileStatus("file", 0o100644, 0, 0, len(execution.read_file(path)), 0, 0, 0, 0, 0)
    if posixpath.normpath(path).startswith(f"{CODE_ROOT}/"):
        prefix = posixpath.normpath(path).removeprefix(f"{CODE_ROOT}/") + "/"
        if any(name.startswith(prefix) for name in execution.files):
            return FileStatus("directory", 0o040755, 0, 0, 0, 0, 0, 0, 0, 0)
    found: FileStatus | None = execution.node.status(path, follows=follows)
    return found


def _required(execution: Any, value: Any, *, follows: bool = True) -> FileStatus:
    path = _path(execution, value)
    status = _status(execution, path, follows=follows)
    if status is None:
        raise FileNotFoundError(2, "No such file or directory", path)
    return status


# Reading


@fact_class("File IO Puppet::FileSystem", "read", "binread")
def _read(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    text = str(execution.read_file(_path(execution, args[0])))
    return text[: args[1]] if len(args) > 1 and isinstance(args[1], int) else text


@fact_class("Facter::Util::FileRead", "read")
def _read_quietly(execution: Any, this: Constant, args: Args, block: Proc | None) -> str | None:
    try:
        return str(execution.read_file(_path(execution, args[0])))
    except OSError:
        return None


@fact_class("File IO", "readlines")
def _readlines(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return _lines(execution, str(execution.read_file(_path(execution, args[0]))), args[1:])


def _lines(execution: Any, text: str, options: Args) -> list[str]:
    lines = text.splitlines(keepends=True) if "\x0b" not in text and "\x0c" not in text else _plain_lines(text)
    chomps = any(isinstance(each, dict) and each.get(Symbol("chomp")) for each in options)
    return [line.removesuffix("\n").removesuffix("\r") for line in lines] if chomps else lines


def _plain_lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "\n" else [*lines[:-1], lines[-1].removesuffix("\n")]


@fact_class("File IO", "foreach")
def _foreach(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    lines = _readlines(execution, this, args, None)
    if block is None:
        return lines
    for line in lines:
        execution.yield_to(block, line)
    return None


@fact_class("File IO", "open")
@fact_class("File", "new")
def _open(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    mode = args[1] if len(args) > 1 else "r"
    if not isinstance(mode, str) and not isinstance(mode, dict):
        refuse("File.open with flags")
    if isinstance(mode, str) and set(mode.partition(":")[0]) & set("wa+"):
        refuse("a file that is opened for writing")
    path = _path(execution, args[0])
    made = OpenFile(str(execution.read_file(path)), path)
    return made if block is None else execution.yield_to(block, made)


@fact_class("IO", "popen")
def _popen(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    words = args[0]
    command = [plain_text(execution, word) for word in words] if isinstance(words, list) else to_str(words)
    made = OpenFile(start(execution, command, execution.environment).out)
    return made if block is None else execution.yield_to(block, made)


@fact_class("StringIO", "new")
def _string_io(execution: Any, this: Constant, args: Args, block: Proc | None) -> OpenFile:
    return OpenFile(to_str(args[0]) if args else "")


@fact_class(
    "File IO FileUtils",
    "write",
    "delete",
    "unlink",
    "rename",
    "chmod",
    "chown",
    "symlink",
    "mkdir_p",
    "rm",
    "rm_f",
    "touch",
    "cp",
    "mv",
)
@fact_class("Dir", "mkdir", "rmdir", "delete", "unlink", "mktmpdir", "chdir", "tmpdir")
def _write(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    refuse(f"{this.name}: facts cannot change files")


@method("File", "read")
def _read_rest(execution: Any, this: OpenFile, args: Args, block: Proc | None) -> str:
    rest = this.text[this.at :]
    if args and isinstance(args[0], int):
        rest = rest[: args[0]]
    this.at += len(rest)
    return rest


@method("File", "readlines", "to_a", "each_line", "each", "lines")
def _read_lines(execution: Any, this: OpenFile, args: Args, block: Proc | None) -> Any:
    lines = _lines(execution, _read_rest(execution, this, [], None), args)
    if block is None:
        return lines
    for line in lines:
        execution.yield_to(block, line)
    return this


@method("File", "gets", "readline")
def _read_line(execution: Any, this: OpenFile, args: Args, block: Proc | None) -> str | None:
    end = this.text.find("\n", this.at)
    line = this.text[this.at :] if end < 0 else this.text[this.at : end + 1]
    this.at += len(line)
    return line or None


@method("File", "eof?", "eof")
def _is_at_end(execution: Any, this: OpenFile, args: Args, block: Proc | None) -> bool:
    return this.at >= len(this.text)


@method("File", "close", "rewind", "close_write", "binmode", "flush")
def _close(execution: Any, this: OpenFile, args: Args, block: Proc | None) -> None:
    this.at = 0


@method("File", "path", "to_path")
def _path_of(execution: Any, this: OpenFile, args: Args, block: Proc | None) -> str:
    return this.path


def _declare_enumerable() -> None:
    """Declare the methods of Enumerable: those of an array of the lines."""
    for name in (
        "map", "collect", "select", "filter", "grep", "find", "detect", "each_with_index", "reject", "first", "any?", "all?", "none?",
        "count", "inject", "reduce", "each_with_object", "flat_map", "find_all", "include?", "max", "min", "sort", "to_h", "take_while",
    ):  # fmt: skip

        def run(execution: Any, this: OpenFile, args: Args, block: Proc | None, name: str = name) -> Any:
            return call_method(execution, _read_lines(execution, this, [], None), name, args, block)

        method("File", name)(run)


_declare_enumerable()


# What files are


@fact_class(FILES, "exist?", "exists?")
def _exists(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return _status(execution, _path(execution, args[0])) is not None


def _declare_kinds() -> None:
    for names, kind, follows in (
        (("file?",), "file", True),
        (("directory?",), "directory", True),
        (("symlink?",), "link", False),
        (("socket?",), "socket", True),
        (("pipe?",), "fifo", True),
        (("blockdev?",), "blockSpecial", True),
        (("chardev?",), "characterSpecial", True),
    ):

        def run(
            execution: Any, this: Constant, args: Args, block: Proc | None, kind: str = kind, follows: bool = follows
        ) -> bool:
            status = _status(execution, _path(execution, args[0]), follows=follows)
            return status is not None and status.kind == kind

        fact_class(FILES, *names)(run)

        def is_kind(execution: Any, this: RubyStatus, args: Args, block: Proc | None, kind: str = kind) -> bool:
            return this.status.kind == kind

        method("File::Stat", *names)(is_kind)
    fact_class("Dir", "exist?", "exists?")(lambda *given: _is_directory(*given))


def _is_directory(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    status = _status(execution, _path(execution, args[0]))
    return status is not None and status.kind == "directory"


def _declare_access() -> None:
    for name, access in (("readable?", "read"), ("writable?", "write"), ("executable?", "execute")):

        def run(execution: Any, this: Constant, args: Args, block: Proc | None, access: str = access) -> bool:
            path = _path(execution, args[0])
            return (execution.code_path(path) is not None and access == "read") or execution.node.may(path, access)

        fact_class(FILES, name, name.replace("?", "_real?"))(run)


def _declare_attributes() -> None:
    """Declare what is both a method of File with a path, and one of a status."""

    def time(ns: int) -> RubyTime:
        return RubyTime(Timestamp(ns))

    attributes: dict[str, Any] = {
        "size": lambda status: status.size_bytes,
        "size?": lambda status: status.size_bytes or None,
        "zero?": lambda status: status.size_bytes == 0,
        "empty?": lambda status: status.size_bytes == 0,
        "mtime": lambda status: time(status.modified_ns),
        "ctime": lambda status: time(status.changed_ns),
        "atime": lambda status: time(status.accessed_ns),
        "ftype": lambda status: status.kind,
        "mode": lambda status: status.mode,
        "uid": lambda status: status.uid,
        "gid": lambda status: status.gid,
        "ino": lambda status: status.inode,
        "dev": lambda status: status.device,
        "world_readable?": lambda status: status.mode & 0o777 if status.mode & 0o004 else None,
        "world_writable?": lambda status: status.mode & 0o777 if status.mode & 0o002 else None,
        "setuid?": lambda status: bool(status.mode & 0o4000),
    }
    for name, read in attributes.items():
        is_quiet = name.endswith("?")

        def run(
            execution: Any, this: Constant, args: Args, block: Proc | None, read: Any = read, is_quiet: bool = is_quiet
        ) -> Any:
            if is_quiet and _status(execution, _path(execution, args[0])) is None:
                return None if read is attributes["size?"] else False
            return read(_required(execution, args[0]))

        def of_status(execution: Any, this: RubyStatus, args: Args, block: Proc | None, read: Any = read) -> Any:
            return read(this.status)

        def of_file(execution: Any, this: OpenFile, args: Args, block: Proc | None, read: Any = read) -> Any:
            return read(_required(execution, this))

        fact_class(FILES, name)(run)
        method("File::Stat", name)(of_status)
        method("File", name)(of_file)


_declare_kinds()
_declare_access()
_declare_attributes()


@fact_class("File Puppet::FileSystem", "stat")
def _stat(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyStatus:
    return RubyStatus(_required(execution, args[0]))


@fact_class("File Puppet::FileSystem", "lstat")
def _lstat(execution: Any, this: Constant, args: Args, block: Proc | None) -> RubyStatus:
    return RubyStatus(_required(execution, args[0], follows=False))


@fact_class("File Puppet::FileSystem", "readlink")
def _readlink(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    return str(execution.node.link_target(_path(execution, args[0])))


@fact_class("File", "realpath", "realdirpath")
def _realpath(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    path = _path(execution, args[0])
    return path if execution.code_path(path) is not None else str(execution.node.real_path(path))


@fact_class("File", "expand_path", "absolute_path")
def _expand_path(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    path = to_str(args[0])
    if path == "~" or path.startswith("~/"):
        path = execution.environment.get("HOME", "/") + path[1:]
    base = to_str(args[1]) if len(args) > 1 and args[1] is not None else "/"
    return posixpath.normpath(posixpath.join("/", base, path)).replace("//", "/")


# Directories


@fact_class("Dir", "glob", "[]")
def _glob(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    options = [arg for arg in args if not isinstance(arg, dict)]
    patterns = [
        each for arg in options if not isinstance(arg, int) for each in (arg if isinstance(arg, list) else [arg])
    ]
    found = [path for pattern in patterns for path in globs.glob(execution.node, to_str(pattern))]
    if block is None:
        return found
    for path in found:
        execution.yield_to(block, path)
    return None


def _declare_listings() -> None:
    for name, has_dots in (("entries", True), ("children", False), ("foreach", True), ("each_child", False)):

        def run(execution: Any, this: Constant, args: Args, block: Proc | None, has_dots: bool = has_dots) -> Any:
            names = [*([".", ".."] if has_dots else []), *execution.node.names(_path(execution, args[0]))]
            if block is None:
                return names
            return call_method(execution, names, "each", [], block)

        fact_class("Dir", name)(run)


_declare_listings()


@fact_class("Dir", "empty?")
def _is_empty(execution: Any, this: Constant, args: Args, block: Proc | None) -> bool:
    return _is_directory(execution, this, args, None) and not execution.node.names(_path(execution, args[0]))


@fact_class("Dir", "pwd", "getwd")
def _pwd(execution: Any, this: Constant, args: Args, block: Proc | None) -> str:
    return "/"
