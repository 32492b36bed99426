"""The entry points: evaluate code, compile a catalog.

Both are pure functions of the inputs and settings: two calls with equal arguments give the same value, log and trace.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import msgspec

from precast.base import digests
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.catalog import issues as catalog_issues
from precast.catalog.body import Body
from precast.catalog.problems import CatalogProblem
from precast.catalog.source_map import SourceMap
from precast.lang.compiler.compilation import Compilation
from precast.lang.compiler.definitions import SourceUnit
from precast.lang.compiler.environment import remarks, with_environment
from precast.lang.compiler.finalization import finish
from precast.lang.compiler.loader import translate_file
from precast.lang.compiler.missing_facts import find_missing_facts
from precast.lang.compiler.node_blocks import evaluate_node_block, include_assigned_classes
from precast.lang.compiler.resources import Parameter, Resource
from precast.lang.compiler.types.bridged_types import bridged_types, explain_missing_puppet
from precast.lang.compiler.types.type_checks import check_types
from precast.lang.control_flow import Break, ControlFlow, Next
from precast.lang.entry_points import check_entry_point
from precast.lang.inputs import ABSENT, CompilerVersion, EntryPoint, Inputs, Listing, Read
from precast.lang.issues import compiler as issues
from precast.lang.settings import LogLine, Settings
from precast.types.declaration import ManagedType


class Evaluation(msgspec.Struct, frozen=True):
    """The value of some code, with the log lines it wrote."""

    value: Any
    logs: tuple[LogLine, ...]


class CompileResult(msgspec.Struct, frozen=True):
    """A catalog, with the compile's log lines and the trace of its reads."""

    body: Body
    source_map: SourceMap
    logs: tuple[LogLine, ...]
    trace: tuple[Read, ...]
    # The types in the catalog that modules declare. A reader that orders or applies the catalog needs their declarations.
    types: dict[str, ManagedType] = {}
    # Facts that modules add and the node does not have, and secrets that are open to others.
    problems: tuple[CatalogProblem, ...] = ()
    # Resources that the type code of modules refuses. No node could apply the catalog.
    refused: tuple[PrecastError, ...] = ()


class CompileFailure(Exception):
    """A compile that ended in an error, with the log lines written before it, and problems that may have caused it."""

    def __init__(
        self, error: PrecastError, logs: tuple[LogLine, ...], problems: tuple[CatalogProblem, ...] = ()
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.logs = logs
        self.problems = problems


def evaluate(source: Source, inputs: Inputs, settings: Settings) -> Evaluation:
    """Evaluate code with the classes and defines it declares; give the last expression's value. Raises CompileFailure."""
    compilation = start_compilation(inputs, settings)
    try:
        with _reject_stray_jumps():
            value = _evaluate_main(compilation, _unit(source))
            compilation.catalog.evaluate_all()
    except PrecastError as error:
        raise CompileFailure(error, tuple(compilation.logs)) from None
    return Evaluation(value, tuple(compilation.logs))


@contextlib.contextmanager
def _garbage_collector_paused() -> Iterator[None]:
    """Pause garbage collection: a compile keeps nearly all its objects to the end, and cycle searches cost a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_garbage_collector_paused()
def compile_catalog(inputs: Inputs, settings: Settings, manifest: Source | None = None) -> CompileResult:
    """Compile the catalog of the node behind the inputs; `manifest` replaces the environment's own. Raises CompileFailure."""
    inputs.ask(EntryPoint())  # the first question: traces of different entry points have nothing in common
    compilation = start_compilation(inputs, settings)
    try:
        with inputs.secrets.collecting():
            run_manifests(compilation, manifest)
            body, source_map = finish(compilation)
            types, refused = check_types(compilation, compilation.known_types.of_modules)
    except PrecastError as error:
        problems = _describe(_find_missing_facts(compilation), compilation)
        raise CompileFailure(error, tuple(compilation.logs), problems) from None
    missing = _find_missing_facts(compilation)
    problems = _describe(missing, compilation)
    if missing and compilation.settings.missing_module_facts == "error":
        raise CompileFailure(missing[0], tuple(compilation.logs), problems[1:])
    if without := _find_missing_puppet(compilation):
        if compilation.settings.types_without_puppet == "error" and catalog_issues.NO_PUPPET.matches(without):
            raise CompileFailure(without, tuple(compilation.logs), problems)
        problems = (*problems, CatalogProblem.of_error(without))
    return CompileResult(body, source_map, tuple(compilation.logs), inputs.trace, types, problems, refused)


def _describe(missing: list[PrecastError], compilation: Compilation) -> tuple[CatalogProblem, ...]:
    """The problems of a compile: facts that are missing, and secrets that are open to others."""
    return tuple(map(CatalogProblem.of_error, (*missing, *compilation.fact_choices.problems.values())))


def _find_missing_facts(compilation: Compilation) -> list[PrecastError]:
    if compilation.settings.missing_module_facts == "ignore":
        return []
    return find_missing_facts(compilation.inputs, compilation.settings.module_path)


def _find_missing_puppet(compilation: Compilation) -> PrecastError | None:
    if compilation.settings.types_without_puppet == "ignore":
        return None
    bridged = bridged_types(compilation, compilation.catalog.resources.values())
    return explain_missing_puppet(compilation.inputs, bridged)


def run_manifests(compilation: Compilation, manifest: Source | None = None) -> None:
    """Run the environment's manifests, its entry point or the given manifest, and everything they declare. Raises PrecastError.

    An entry point is a step of its own and not the node's configuration: the classes that an operator assigned are not included.
    """
    entry = compilation.inputs.ask(EntryPoint()) if manifest is None else ""
    for unit in (units := _units(compilation, manifest, entry)):
        compilation.loader.add(unit)
    with _reject_stray_jumps():
        for unit in units:
            unit.main(compilation.top)
        evaluate_node_block(compilation)
        if not entry:
            include_assigned_classes(compilation)
        compilation.catalog.evaluate_all()


def _units(compilation: Compilation, manifest: Source | None, entry: str) -> list[SourceUnit]:
    """The code at which a compile begins. Raises LANG-767 and LANG-768 for an entry point that is not a file of the environment."""
    if manifest is not None:
        return [_unit(manifest)]
    if entry:
        return [_entry_unit(compilation, entry)]
    path = compilation.settings.manifest
    units = _manifests(compilation.inputs, path)
    if not units:
        compilation.log(
            "warning", f"the environment has no code in {path}: only the node's assigned classes are compiled"
        )
    return units


def start_compilation(inputs: Inputs, settings: Settings) -> Compilation:
    """Start a compilation with the environment's own settings. Raises CompileFailure if these are invalid."""
    try:
        compilation = _start(inputs, with_environment(inputs, settings))
    except PrecastError as error:
        raise CompileFailure(error, ()) from None
    for level, text in remarks(inputs):
        compilation.log(level, text)
    return compilation


def _start(inputs: Inputs, settings: Settings) -> Compilation:
    inputs.ask(CompilerVersion())
    compilation = Compilation(inputs, settings)
    compilation.catalog.add(Resource("stage", "main", None))
    compilation.main.parameters["name"] = Parameter("main", compilation.top.frame)
    compilation.top.variables.update(title="main", name="main", module_name="")
    compilation.main.tags = {"class": None}
    compilation.catalog.add(compilation.main)
    return compilation


def _evaluate_main(compilation: Compilation, unit: SourceUnit) -> Any:
    compilation.loader.add(unit)
    return unit.main(compilation.top)


@contextlib.contextmanager
def _reject_stray_jumps() -> Iterator[None]:
    """Turn `next`, `break` or `return` outside a lambda, function, class or define into an error."""
    try:
        yield
    except ControlFlow as jump:
        name = "next" if isinstance(jump, Next) else "break" if isinstance(jump, Break) else "return"
        raise issues.ILLEGAL_JUMP.error(jump.source, jump.span, name=name) from None


def _unit(source: Source) -> SourceUnit:
    return translate_file(source.path, digests.of_bytes(source.text.encode()), source.text, "")


def _entry_unit(compilation: Compilation, path: str) -> SourceUnit:
    """The code of an entry point. Its file is not loaded a second time for the name of a class that it does not define."""
    check_entry_point(path)
    text = compilation.inputs.text(path)
    if text is None:
        raise issues.NO_ENTRY.error(path=path)
    compilation.loader.mark_loaded(path)
    return translate_file(path, text[0], text[1], "")


def _manifests(inputs: Inputs, path: str) -> list[SourceUnit]:
    """The environment's manifests: one file, or all files below a directory in the order of their names."""
    paths = [path] if path.endswith(".pp") else _manifest_paths(inputs, path)
    texts = [(path, inputs.text(path)) for path in paths]
    return [translate_file(path, text[0], text[1], "") for path, text in texts if text is not None]


def _manifest_paths(inputs: Inputs, directory: str) -> list[str]:
    names = inputs.ask(Listing(directory))
    if names is ABSENT:
        return []
    paths: list[str] = []
    for name in names:
        if name.endswith("/"):
            paths += _manifest_paths(inputs, f"{directory}/{name.rstrip('/')}")
        elif name.endswith(".pp"):
            paths.append(f"{directory}/{name}")
    return paths
