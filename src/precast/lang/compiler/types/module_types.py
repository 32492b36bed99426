"""Types out of modules' files, read once for their content.

A compile asks for every file a type led to, also where what was read is kept: its trace does not depend on what the process read before.
"""

from precast.lang.compiler.loading import Loader
from precast.lang.inputs import Inputs
from precast.lang.ruby.code.code import Code, code_of
from precast.lang.ruby.code.types import NotThisType, read_type
from precast.types.declaration import ManagedType

# What was read, by the type's file with its digest: which further files it led to, and for their digests the type. Bounded as the
# loader's units are.
_read: dict[tuple[str, str], tuple[tuple[str, ...], dict[tuple[str | None, ...], ManagedType | None]]] = {}
_READ_KEPT = 2000


def type_in(path: str, name: str, loader: Loader, inputs: Inputs) -> ManagedType | None:
    """The type of a name that a file declares; None if the file is not there or declares others."""
    found = inputs.text(path)
    if found is None:
        return None
    digest, text = found
    library = _Library(loader, inputs)
    asked, known = _read.get((path, digest), ((), {}))
    key = tuple(library.digest(each) for each in asked)
    if key in known:
        return known[key]
    if len(_read) >= _READ_KEPT:
        _read.clear()
    try:
        made = read_type(name, code_of(path, digest, text), library.file)
    except NotThisType:
        made = None
    # Which files come first depends on the type's file alone; a helper that leads to others is read again.
    _read[path, digest] = tuple(library.asked), {tuple(library.digest(each) for each in library.asked): made}
    return made


class _Library:
    """Files below `lib` of modules, and which of them were asked for."""

    def __init__(self, loader: Loader, inputs: Inputs) -> None:
        self._loader = loader
        self._inputs = inputs
        self.asked: dict[str, None] = {}

    def file(self, path: str) -> Code | None:
        self.asked[path] = None
        place = self._loader.module_file(f"lib/{path}")
        found = self._inputs.text(place) if place is not None else None
        return None if place is None or found is None else code_of(place, *found)

    def digest(self, path: str) -> str | None:
        place = self._loader.module_file(f"lib/{path}")
        return None if place is None else self._inputs.digest(place)
