"""Managed types read from modules' Ruby files, once per content.

A compile asks for every file that a type led to, even if the result is cached: its trace does not depend on what the process read
before.
"""

from precast.lang.compiler.loader import Loader
from precast.lang.inputs import Inputs
from precast.lang.ruby.declarations.ruby_file import RubyFile, load_ruby_file
from precast.lang.ruby.declarations.types import NotThisType, read_type
from precast.types.declaration import ManagedType

# Results by the type's file and digest: the further files it led to, and the type by these files' digests. The size is limited like
# that of the loader's units.
_read: dict[tuple[str, str], tuple[tuple[str, ...], dict[tuple[str | None, ...], ManagedType | None]]] = {}
_MAX_READ = 2000


def type_in(path: str, name: str, loader: Loader, inputs: Inputs) -> ManagedType | None:
    """The type with a name that a file declares; None if the file does not exist or declares other types."""
    type_file = inputs.text(path)
    if type_file is None:
        return None
    digest, text = type_file
    library = _Library(loader, inputs)
    asked, known = _read.get((path, digest), ((), {}))
    key = tuple(library.digest(helper) for helper in asked)
    if key in known:
        return known[key]
    if len(_read) >= _MAX_READ:
        _read.clear()
    try:
        declared = read_type(name, load_ruby_file(path, digest, text), library.file)
    except NotThisType:
        declared = None
    # Which files come first depends on the type's file alone; a helper that leads to other files is read again.
    _read[path, digest] = tuple(library.asked), {tuple(library.digest(helper) for helper in library.asked): declared}
    return declared


class _Library:
    """The files below `lib` of modules, with a record of those asked for."""

    def __init__(self, loader: Loader, inputs: Inputs) -> None:
        self._loader = loader
        self._inputs = inputs
        self.asked: dict[str, None] = {}

    def file(self, path: str) -> RubyFile | None:
        self.asked[path] = None
        location = self._loader.module_file(f"lib/{path}")
        text = self._inputs.text(location) if location is not None else None
        return None if location is None or text is None else load_ruby_file(location, *text)

    def digest(self, path: str) -> str | None:
        location = self._loader.module_file(f"lib/{path}")
        return None if location is None else self._inputs.digest(location)
