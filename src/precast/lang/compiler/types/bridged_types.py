"""Types that a node applies with the Ruby code of modules: which they are, the files that their providers need, and whether a node can.

The files are those of the modules that declare the type or a provider of it, of the modules that these depend on by their metadata,
and of modules whose files they load. Code that only a compiler runs (functions) is left out. The trace has one answer with digests for
each module.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from precast.base.errors import PrecastError
from precast.catalog import issues
from precast.lang.compiler.resources import Resource
from precast.lang.inputs import ABSENT, FactPath, Inputs, ModuleLibrary, ModulesWithType
from precast.types import catalogue
from precast.types.application import BRIDGED, find_foreign, how_applied
from precast.types.declaration import ManagedType

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

# The fact by which a node says whether it has a Puppet.
FACT: Final = "precast_bridge"
_LOADS: Final = re.compile(rb"""^\s*require(?:_relative)?[\s(]+['"]([\w/.-]{1,200})['"]""", re.MULTILINE)
_USES: Final = re.compile(rb"""Puppet::Type(?:\.type\(:|::)(\w{1,100})""")
_OWNER: Final = re.compile(r"[\w.]+[-/]")
_CONTAINERS: Final = ("class", "stage", "node")
_NAMES_SHOWN: Final = 5
# What the Ruby files of a content name, by digest: files and types. The content of a digest never changes.
_named: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
_MAX_NAMED: Final = 5000


def bridged_types(compilation: "Compilation", resources: Iterable[Resource]) -> list[str]:
    """The types of resources that a node applies with Ruby code, in the order of their names."""
    applied = [
        resource
        for resource in resources
        if resource.definition is None and not resource.virtual and resource.type_name not in _CONTAINERS
    ]
    names = {resource.type_name for resource in applied}
    bridged = {name for name in names if _is_bridged(compilation.known_types.find(name))}
    return sorted(bridged | {resource.type_name for resource in applied if _is_foreign(resource)})


def _is_foreign(resource: Resource) -> bool:
    """Whether only the module's own code can apply a resource of a type that Precast implements."""
    declared = catalogue.find_any(resource.type_name)
    if declared is None or not declared.module:
        return False  # most resources
    return bool(find_foreign(resource.type_name, {name: resource.value(name) for name in resource.parameters}))


def _is_bridged(declared: ManagedType | None) -> bool:
    return declared is not None and how_applied(declared) == BRIDGED


def library_of(compilation: "Compilation", types: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files that the providers of these types need, as MODULE/lib/PATH with their digests."""
    return _Closure(compilation).files(types)


def explain_missing_puppet(inputs: Inputs, types: Iterable[str]) -> PrecastError | None:
    """Explain that the node has no Puppet to apply these types with; None if it has one, or there are none."""
    names = sorted(types)
    if not names:
        return None
    answer = inputs.ask(FactPath((FACT, "available")))
    if answer is True:
        return None
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    issue = issues.MAYBE_NO_PUPPET if answer is ABSENT else issues.NO_PUPPET
    return issue.error(types=", ".join(names[:_NAMES_SHOWN]) + more)


class _Closure:
    """Collects the modules that providers need."""

    def __init__(self, compilation: "Compilation") -> None:
        self._compilation = compilation
        self._inputs = compilation.inputs
        self._roots = compilation.settings.module_path
        self._modules: dict[str, tuple[tuple[str, str], ...]] = {}

    def files(self, types: Iterable[str]) -> Iterator[tuple[str, str]]:
        waiting = [module for name in types for module in self._modules_of_type(name)]
        while waiting:
            module = waiting.pop()
            if module not in self._modules:
                waiting += self._add(module)
        for module, files in sorted(self._modules.items()):
            for path, digest in files:
                yield f"{module}/lib/{path}", digest

    def _modules_of_type(self, name: str) -> Iterable[str]:
        modules: tuple[str, ...] = self._inputs.ask(ModulesWithType(name, self._roots))
        return modules

    def _add(self, module: str) -> list[str]:
        """Add the files of a module; the modules that it needs."""
        files = self._inputs.ask(ModuleLibrary(module, self._roots))
        self._modules[module] = files
        if not files:
            return []
        needed = [*self._dependencies(module)]
        own = {path for path, _ in files}
        for path, digest in files:
            if path.endswith(".rb"):
                needed += self._named_by(digest, own)
        return needed

    def _dependencies(self, module: str) -> Iterator[str]:
        directory = self._compilation.loader.module_directory(module)
        found = self._inputs.text(f"{directory}/metadata.json") if directory is not None else None
        try:
            data = json.loads(found[1]) if found is not None else {}
        except ValueError:
            return  # `env modules check` reports it
        listed = data.get("dependencies") if isinstance(data, dict) else None
        for each in listed if isinstance(listed, list) else ():
            name = each.get("name") if isinstance(each, dict) else None
            if isinstance(name, str):
                yield _OWNER.sub("", name, count=1)

    def _named_by(self, digest: str, own: set[str]) -> Iterator[str]:
        loads, uses = _names_in(digest, self._inputs)
        for path in loads:
            if f"{path}.rb" not in own and (place := self._compilation.loader.module_file(f"lib/{path}.rb")):
                yield place.removesuffix(f"/lib/{path}.rb").rpartition("/")[2]
        for name in uses:
            if not catalogue.is_applied(name) and f"puppet/type/{name}.rb" not in own:
                yield from self._modules_of_type(name)


def _names_in(digest: str, inputs: Inputs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that a Ruby file loads, without their ending, and the types that it uses."""
    known = _named.get(digest)
    if known is None:
        if len(_named) >= _MAX_NAMED:
            _named.clear()
        text = inputs.content_of(digest)  # type: ignore[arg-type]
        loads = dict.fromkeys(match.decode().removesuffix(".rb") for match in _LOADS.findall(text))
        uses = dict.fromkeys(match.decode().lower() for match in _USES.findall(text))
        known = _named[digest] = tuple(path for path in loads if not path.startswith(".")), tuple(uses)
    return known
