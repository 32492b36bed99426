"""libaugeas through its C interface: one tree of configuration files.

The library only reads and parses files here: it never saves. Its own way to find out what saving would change creates files next to the
real ones, which a no-op run must not do, and it follows links that other users created. So changed texts are taken from the tree, and
`text_edits` and the handler compare and write them.
"""

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, Final, Self

from precast.resources import issues_modules as issues

TYPE_CHECK: Final = 1 << 2
NO_LOAD: Final = 1 << 5
NO_AUTOLOAD: Final = 1 << 6
_NO_ERROR_CLOSE: Final = 1 << 8
_FNM_PERIOD: Final = 1 << 2
_LIBRARY: Final = "libaugeas.so.0"

_TREE, _TEXT, _OUT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "aug_load": (_TREE,),
    "aug_get": (_TREE, _TEXT, _OUT),
    "aug_set": (_TREE, _TEXT, _TEXT),
    "aug_setm": (_TREE, _TEXT, _TEXT, _TEXT),
    "aug_rm": (_TREE, _TEXT),
    "aug_mv": (_TREE, _TEXT, _TEXT),
    "aug_rename": (_TREE, _TEXT, _TEXT),
    "aug_insert": (_TREE, _TEXT, _TEXT, ctypes.c_int),
    "aug_defvar": (_TREE, _TEXT, _TEXT),
    "aug_defnode": (_TREE, _TEXT, _TEXT, _TEXT, _OUT),
    "aug_match": (_TREE, _TEXT, _OUT),
    "aug_print": (_TREE, ctypes.c_void_p, _TEXT),
    "aug_text_retrieve": (_TREE, _TEXT, _TEXT, _TEXT, _TEXT),
    "aug_error": (_TREE,),
    "aug_close": (_TREE,),
}
_MESSAGES: Final = ("aug_error_message", "aug_error_minor_message", "aug_error_details")


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.free.argtypes = (ctypes.c_void_p,)
    libc.open_memstream.restype = ctypes.c_void_p
    libc.open_memstream.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    libc.fclose.argtypes = (ctypes.c_void_p,)
    libc.fnmatch.argtypes = (_TEXT, _TEXT, ctypes.c_int)
    return libc


def _load() -> ctypes.CDLL:
    """Load the library. It is not cached if it is missing: a package of the same run may install it."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        raise issues.NO_AUGEAS.error(library=_LIBRARY) from None
    library.aug_init.restype = ctypes.c_void_p
    library.aug_init.argtypes = (_TEXT, _TEXT, ctypes.c_uint)
    for name, arguments in _FUNCTIONS.items():
        getattr(library, name).argtypes = arguments
    for name in _MESSAGES:
        getattr(library, name).argtypes = (_TREE,)
        getattr(library, name).restype = _TEXT
    return library


def matches_glob(pattern: str, path: str) -> bool:
    """Whether a path matches a pattern of a transform: `*` matches slashes, too, but no dot at the beginning."""
    return bool(_libc().fnmatch(_encode(pattern), _encode(path), _FNM_PERIOD) == 0)


class Tree:
    """An open tree; it must be closed. Every method raises InputError RESOURCE-231 with the library's reason if it fails."""

    def __init__(self, root: str, load_path: str, flags: int) -> None:
        self._library = _load()
        self._tree = self._library.aug_init(_encode(root), _encode(load_path), flags | _NO_ERROR_CLOSE)
        if not self._tree:
            raise issues.AUGEAS_FAILED.error(what="open", reason="out of memory")
        if self._library.aug_error(self._tree):
            reason = self._reason()
            self.close()
            raise issues.AUGEAS_FAILED.error(what="open", reason=reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._tree:
            self._library.aug_close(self._tree)
            self._tree = None

    def _call(self, name: str, *arguments: str | None) -> int:
        encoded = [None if argument is None else _encode(argument) for argument in arguments]
        return self._checked(name, getattr(self._library, f"aug_{name}")(self._tree, *encoded))

    def _checked(self, name: str, code: int) -> int:
        if code < 0:
            raise issues.AUGEAS_FAILED.error(what=name, reason=self._reason())
        return code

    def _reason(self) -> str:
        parts = (getattr(self._library, name)(self._tree) for name in _MESSAGES)
        return ": ".join(" ".join(_decode(part).split()) for part in parts if part) or "no reason is given"

    def load(self) -> None:
        """Read and parse the files of all transforms; a file that cannot be parsed becomes a node below /augeas//error."""
        self._call("load")

    def get(self, path: str) -> str | None:
        """The value of a node; None if it has none, or if no node or several nodes match."""
        value = ctypes.c_char_p()
        self._library.aug_get(self._tree, _encode(path), ctypes.byref(value))
        return None if value.value is None else _decode(value.value)

    def match(self, path: str) -> list[str]:
        """The paths of the nodes that match an expression."""
        found = ctypes.POINTER(ctypes.c_void_p)()
        count = self._checked("match", self._library.aug_match(self._tree, _encode(path), ctypes.byref(found)))
        try:
            return [_decode(ctypes.string_at(found[at] or 0)) for at in range(count)]
        finally:
            for at in range(count):
                _libc().free(found[at])
            _libc().free(ctypes.cast(found, ctypes.c_void_p))

    def set(self, path: str, value: str | None) -> None:
        self._call("set", path, value)

    def set_many(self, base: str, below: str | None, value: str | None) -> None:
        self._call("setm", base, below, value)

    def remove(self, path: str) -> None:
        self._call("rm", path)

    def move(self, path: str, target: str) -> None:
        self._call("mv", path, target)

    def rename(self, path: str, label: str) -> None:
        self._call("rename", path, label)

    def insert(self, path: str, label: str, is_before: bool) -> None:
        code = self._library.aug_insert(self._tree, _encode(path), _encode(label), int(is_before))
        self._checked("insert", code)

    def define_variable(self, name: str, expression: str) -> None:
        self._call("defvar", name, expression)

    def define_node(self, name: str, expression: str, value: str) -> None:
        created = ctypes.c_int()
        arguments = (_encode(name), _encode(expression), _encode(value), ctypes.byref(created))
        self._checked("defnode", self._library.aug_defnode(self._tree, *arguments))

    def dump(self, path: str) -> bytes:
        """All nodes below a path with their values, a line each, in their order."""
        libc, data, size = _libc(), ctypes.c_void_p(), ctypes.c_size_t()
        stream = libc.open_memstream(ctypes.byref(data), ctypes.byref(size))
        if not stream:
            raise MemoryError
        try:
            code = self._library.aug_print(self._tree, stream, _encode(path))
        finally:
            libc.fclose(stream)
        try:
            self._checked("print", code)
            return ctypes.string_at(data, size.value)
        finally:
            libc.free(data)

    def text(self, lens: str, path: str, former: bytes) -> bytes:
        """The text of the file at a path of the tree, as the lens writes it into the file's former text."""
        given, made = "/augeas/precast/in", "/augeas/precast/out"
        if b"\0" in former:
            raise issues.AUGEAS_FAILED.error(what="save", reason=f"{path} has a byte 0")
        self._checked("set", self._library.aug_set(self._tree, _encode(given), former))
        code = self._library.aug_text_retrieve(self._tree, *map(_encode, (lens, given, path, made)))
        if code < 0:
            raise issues.AUGEAS_FAILED.error(what="save", reason=self._put_error(path) or self._reason())
        value = ctypes.c_char_p()
        self._library.aug_get(self._tree, _encode(made), ctypes.byref(value))
        return value.value or b""

    def _put_error(self, path: str) -> str:
        parts: Sequence[str] = ("path", "lens", "message")
        texts = (self.get(f"/augeas/text{path}/error/{part}") for part in parts)
        return ", ".join(" ".join(text.split()) for text in texts if text)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
