"""The types of an environment's modules for `env modules check`: how each is applied, and what of its code does not run."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from precast.cli.code.type_files import provider_files, type_files
from precast.cli.console.output import print_table
from precast.lang.compiler.types.known_types import KnownTypes
from precast.lang.file_trees import FileStore

ReadFile = Callable[[str], tuple[str, str] | None]
FindFile = Callable[[str], str | None]
_SHOWN = 1  # findings of a type that the table names; the document has all


class CheckedType(NamedTuple):
    """A type or a provider of a module: native, bridged or not there, and what of its code is not run, by file, line and reason."""

    module: str
    name: str
    path: str
    how: str
    not_run: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        return {**self._asdict(), "not_run": list(self.not_run)}


def check_types(
    modules: Mapping[str, tuple[str, Any]], files: FileStore, known: KnownTypes, read: ReadFile, find: FindFile
) -> Iterator[CheckedType]:
    """All types of the modules, and those of their providers that no node runs; `known` has the declarations."""
    # The Ruby subset is imported late: the other commands of the group do not need it.
    from precast.lang.type_code.checking import check_provider, check_type
    from precast.types.application import NATIVE, NOT_THERE

    for module, (path, _) in modules.items():
        own_types = list(type_files(files, path))
        for each in own_types:
            if each.path.endswith(".py"):
                yield CheckedType(module, each.type_name, each.path, NATIVE, ())
                continue
            status = check_type(each.type_name, each.path, known.find(each.type_name), read=read, find=find)
            not_run = tuple(f"{found.path}:{found.line}: {found.reason}" for found in status.findings)
            yield CheckedType(module, each.type_name, each.path, status.how, not_run)
        for each in provider_files(files, path):
            is_of_own_type = each.type_name in {own.type_name for own in own_types}
            finding = None if is_of_own_type else check_provider(each.type_name, each.path)
            if finding is not None:
                name = f"{each.type_name}, provider {each.path.rpartition('/')[2].removesuffix('.rb')}"
                reason = f"{finding.path}:{finding.line}: {finding.reason}"
                yield CheckedType(module, name, each.path, NOT_THERE, (reason,))


def print_types(types: list[CheckedType]) -> None:
    """Print a table of types, and a line on what it means; nothing if there is none."""
    if not types:
        return
    rows = [(each.module, each.name, each.how, "; ".join(each.not_run[:_SHOWN]) or None) for each in types]
    print_table(["MODULE", "TYPE", "APPLIED", "NOT CHECKED WHEN COMPILED"], rows)
    counts = {how: sum(each.how == how for each in types) for how in dict.fromkeys(each.how for each in types)}
    print(f"\n{len(types)} types: {', '.join(f'{count} {how}' for how, count in sorted(counts.items()))}\n")
