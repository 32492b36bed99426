"""Files of one version of an environment: trees to read them from, and a store that reads each file once.

A `FileTree` does not change while it is used, so a `FileStore` remembers each file by its digest and all compiles share it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from precast.base import digests
from precast.lang.fact_files import ruby_fact_files
from precast.lang.inputs import ABSENT, Answer

PLUGIN_KINDS: Final = ("facts", "functions", "types")
# The kind of the Ruby files that nodes need for the facts of modules: MODULE/ruby_facts/PATH below the module's `lib`.
RUBY_FACTS: Final = "ruby_facts"
_PLUGIN_FILE: Final = re.compile(r"[a-z]\w*\.py")
# Readers of the files in which modules add facts that a node may lack, by folder and end of the name: Ruby facts that no node reads, and
# data. Facter loads only Ruby files of the folder itself.
FACT_READERS: Final = {
    "lib/facter": {"rb": "refused_ruby_facts"},
    "facts.d": {"yaml": "yaml_data", "yml": "yaml_data", "json": "json_data", "txt": "text_facts"},
}
# Folders below `lib` of a module with code that only a compiler or a command of Puppet loads.
_COMPILER_FOLDERS: Final = frozenset(
    f"puppet/{name}/"
    for name in ("application", "catalog", "datatypes", "face", "functions", "indirector", "parser", "reports")
)
_LIBRARY_FILE: Final = re.compile(r"(?:[A-Za-z0-9_+-][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_+-][A-Za-z0-9_.+-]*")
MAX_LIBRARY_DEPTH: Final = 20
# A directory on the module path is a module if its name, as a listing shows it, matches.
_MODULE_DIRECTORY: Final = re.compile(r"[a-z][a-z0-9_]*/")


class FileTree(Protocol):
    """One version of an environment's files. Paths are relative to the environment, or absolute for modules outside it."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None if it does not exist."""

    def names(self, path: str) -> tuple[str, ...] | None:
        """The sorted names in a directory, subdirectories with a trailing slash; None if it does not exist."""


class TextTree:
    """Files given as texts by their paths, for specification rows and tests."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    def read(self, path: str) -> bytes | None:
        text = self._files.get(path)
        return None if text is None else text.encode()

    def names(self, path: str) -> tuple[str, ...] | None:
        prefix = f"{path}/" if path else ""
        rests = [name.removeprefix(prefix) for name in self._files if name.startswith(prefix)]
        if not rests:
            return None
        return tuple(sorted({rest.partition("/")[0] + ("/" if "/" in rest else "") for rest in rests}))


class FileStore:
    """Caches the files of a tree by digest; all compiles over that tree share one store."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._digests: dict[str, Answer] = {}
        self._contents: dict[str, bytes] = {}
        self._names: dict[str, Answer] = {}
        self._modules: dict[tuple[str, ...], dict[str, str]] = {}
        self._plugins: dict[tuple[str, ...], tuple[tuple[str, digests.Digest], ...]] = {}
        self._module_files: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
        self._libraries: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, digests.Digest], ...]] = {}
        self._fact_files: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}

    def digest(self, path: str) -> Answer:
        if path not in self._digests:
            data = self._tree.read(path)
            self._digests[path] = ABSENT if data is None else digests.of_bytes(data)
            if data is not None:
                self._contents[self._digests[path]] = data
        return self._digests[path]

    def content(self, digest: digests.Digest) -> bytes:
        return self._contents[digest]

    def names(self, path: str) -> Answer:
        if path not in self._names:
            names = self._tree.names(path)
            self._names[path] = ABSENT if names is None else names
        return self._names[path]

    def modules(self, roots: tuple[str, ...]) -> dict[str, str]:
        """The directories of all modules on a module path, by name; the first with a name hides later ones."""
        if roots not in self._modules:
            directories: dict[str, str] = {}
            for root in roots:
                names = self.names(root)
                for name in () if names is ABSENT else names:
                    if _MODULE_DIRECTORY.fullmatch(name):
                        directories.setdefault(name.rstrip("/"), f"{root}/{name.rstrip('/')}")
            self._modules[roots] = directories
        return self._modules[roots]

    def plugins(self, roots: tuple[str, ...]) -> tuple[tuple[str, digests.Digest], ...]:
        """The plug-ins of all modules, and the Ruby files of their facts; searched for once."""
        if roots not in self._plugins:
            python = tuple(
                (f"{module}/{kind}/{name}", digest)
                for module, directory in sorted(self.modules(roots).items())
                if self.names(f"{directory}/precast") is not ABSENT
                for kind in PLUGIN_KINDS
                for name in self._listed(f"{directory}/precast/{kind}")
                if _PLUGIN_FILE.fullmatch(name)
                and (digest := self.digest(f"{directory}/precast/{kind}/{name}")) is not ABSENT
            )
            ruby = ruby_fact_files(self, roots).items()
            self._plugins[roots] = python + tuple(
                (f"{module}/{RUBY_FACTS}/{inner}", self.digest(path)) for (module, inner), path in ruby
            )
        return self._plugins[roots]

    def modules_with_type(self, name: str, roots: tuple[str, ...]) -> tuple[str, ...]:
        """The modules that have a type or providers of it."""
        return tuple(
            module
            for module, directory in sorted(self.modules(roots).items())
            if f"{name}.rb" in self._listed(f"{directory}/lib/puppet/type")
            or f"{name}/" in self._listed(f"{directory}/lib/puppet/provider")
        )

    def library(self, module: str, roots: tuple[str, ...]) -> tuple[tuple[str, digests.Digest], ...]:
        """The files below `lib` of a module that a node may need; searched for once."""
        key = (module, roots)
        if key not in self._libraries:
            directory = self.modules(roots).get(module)
            found = () if directory is None else self._library_files(f"{directory}/lib", "")
            self._libraries[key] = tuple(found)
        return self._libraries[key]

    def _library_files(self, root: str, folder: str) -> Iterator[tuple[str, digests.Digest]]:
        for name in self._listed(f"{root}/{folder}".rstrip("/")):
            path = f"{folder}{name}"
            if name.endswith("/"):
                if path not in _COMPILER_FOLDERS and path.count("/") < MAX_LIBRARY_DEPTH:
                    yield from self._library_files(root, path)
            elif _LIBRARY_FILE.fullmatch(path) and (digest := self.digest(f"{root}/{path}")) is not ABSENT:
                yield path, digest

    def fact_files(self, roots: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """The files in which modules add facts, in Ruby or as external data, with their readers; what a program adds is not known."""
        if roots not in self._fact_files:
            self._fact_files[roots] = tuple(
                (f"{directory}/{folder}/{name}", reader)
                for directory in self.modules(roots).values()
                for folder, readers in FACT_READERS.items()
                for name in self._listed(f"{directory}/{folder}")
                if (reader := readers.get(name.rpartition(".")[2])) is not None
            )
        return self._fact_files[roots]

    def _listed(self, path: str) -> tuple[str, ...]:
        names = self.names(path)
        return () if names is ABSENT else names

    def module_file(self, path: str, roots: tuple[str, ...]) -> Answer:
        """The file or directory with that path in the first module that has it; each folder is listed once."""
        folder, _, wanted = path.rpartition("/")
        known = self._module_files.get((folder, roots))
        if known is None:
            known = self._module_files[folder, roots] = {}
            for directory in self.modules(roots).values():
                names = self.names(f"{directory}/{folder}")
                for name in () if names is ABSENT else names:
                    leaf = name.rstrip("/")
                    known.setdefault(leaf, f"{directory}/{folder}/{leaf}")
        return known.get(wanted, ABSENT)
