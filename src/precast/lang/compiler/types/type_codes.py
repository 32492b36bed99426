"""The type code of modules that one compile has loaded, by the name of the type."""

from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation
    from precast.lang.type_code.running import TypeCode


class TypeCodes:
    """Loads the code of each type once."""

    def __init__(self, compilation: "Compilation") -> None:
        self._compilation = compilation
        self._codes: dict[str, TypeCode | None] = {}

    def find(self, name: str) -> "TypeCode | None":
        """The code of a type; None if the subset cannot run its file: `env modules check` says why."""
        if name not in self._codes:
            self._codes[name] = self._load(name)
        return self._codes[name]

    def names_of_title(self, name: str, title: str) -> dict[str, Any] | None:
        """The attributes that the title patterns of a type's code set; None if the subset cannot run them, or none matches."""
        code = self.find(name)
        return None if code is None else code.names_of_title(title)

    def _load(self, name: str) -> "TypeCode | None":
        compilation = self._compilation
        path = compilation.loader.module_file(f"lib/puppet/type/{name}.rb")
        found = compilation.inputs.text(path) if path is not None else None
        if path is None or found is None:
            return None
        from precast.lang.type_code.running import load_type

        try:
            return load_type(compilation, compilation.top, name, path, *found)
        except PrecastError:
            return None
