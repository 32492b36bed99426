"""The entry points: evaluate code, compile a catalog.

Both are pure functions of the inputs and settings: whoever calls twice gets the same value, the same log, the same trace.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import msgspec

from precast.base import digests
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.catalog.body import Body
from precast.catalog.source_map import SourceMap
from precast.lang.compiler.definitions import SourceUnit
from precast.lang.compiler.environment import remarks, with_environment
from precast.lang.compiler.finishing import finish
from precast.lang.compiler.loading import translated
from precast.lang.compiler.nodes import evaluate_node
from precast.lang.compiler.resources import Parameter, Resource
from precast.lang.compiler.run import Run
from precast.lang.control import Break, ControlFlow, Next
from precast.lang.inputs import ABSENT, CompilerVersion, Inputs, Listing, Read
from precast.lang.issues import compiler as issues
from precast.lang.settings import LogLine, Settings
from precast.types.declaration import ManagedType


class Evaluation(msgspec.Struct, frozen=True):
    """The value of some code, with what it said."""

    value: Any
    logs: tuple[LogLine, ...]


class CompileResult(msgspec.Struct, frozen=True):
    """A catalog, with what the compile said and read."""

    body: Body
    source_map: SourceMap
    logs: tuple[LogLine, ...]
    trace: tuple[Read, ...]
    # The types in it that modules declare: whoever orders or applies the catalog needs to know what they follow.
    types: dict[str, ManagedType] = {}


class CompileFailure(Exception):
    """A compile that ended in an error, with what it said before."""

    def __init__(self, error: PrecastError, logs: tuple[LogLine, ...]) -> None:
        super().__init__(error.message)
        self.error = error
        self.logs = logs


def evaluate(source: Source, inputs: Inputs, settings: Settings) -> Evaluation:
    """The value of the code's last expression; the classes and defines it declares run too. Raises CompileFailure."""
    run = started(inputs, settings)
    try:
        with _nothing_to_leave():
            value = _evaluate_main(run, _unit(source))
            run.catalog.evaluate_all()
    except PrecastError as error:
        raise CompileFailure(error, tuple(run.logs)) from None
    return Evaluation(value, tuple(run.logs))


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """A compile keeps nearly all it makes until its end: to look for circles in it meanwhile would cost a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_collector_at_rest()
def compile_catalog(inputs: Inputs, settings: Settings, manifest: Source | None = None) -> CompileResult:
    """The catalog of the node behind the inputs; `manifest` stands for the environment's own. Raises CompileFailure."""
    run = started(inputs, settings)
    try:
        run_manifests(run, manifest)
        body, source_map = finish(run)
    except PrecastError as error:
        raise CompileFailure(error, tuple(run.logs)) from None
    return CompileResult(body, source_map, tuple(run.logs), inputs.trace, run.types_known.of_modules)


def run_manifests(run: Run, manifest: Source | None = None) -> None:
    """Runs the environment's manifests, or the one given, and all that they declare. Raises PrecastError."""
    place = run.settings.manifest
    units = [_unit(manifest)] if manifest is not None else _manifests(run.inputs, place)
    if not units:
        run.log("warning", f"the environment has no code in {place}: only classes given to the node count")
    for unit in units:
        run.loader.add(unit)
    with _nothing_to_leave():
        for unit in units:
            unit.main(run.top)
        evaluate_node(run)
        run.catalog.evaluate_all()


def started(inputs: Inputs, settings: Settings) -> Run:
    """A run with the environment's own settings. Raises CompileFailure where these are wrong."""
    try:
        run = _start(inputs, with_environment(inputs, settings))
    except PrecastError as error:
        raise CompileFailure(error, ()) from None
    for level, text in remarks(inputs):
        run.log(level, text)
    return run


def _start(inputs: Inputs, settings: Settings) -> Run:
    inputs.ask(CompilerVersion())
    run = Run(inputs, settings)
    run.catalog.add(Resource("stage", "main", None))
    run.main.parameters["name"] = Parameter("main", run.top.frame)
    run.top.variables.update(title="main", name="main", module_name="")
    run.main.tags = {"class": None}
    run.catalog.add(run.main)
    return run


def _evaluate_main(run: Run, unit: SourceUnit) -> Any:
    run.loader.add(unit)
    return unit.main(run.top)


@contextlib.contextmanager
def _nothing_to_leave() -> Iterator[None]:
    """What is left early is a lambda, function, class or define; a jump that none of them took is an error."""
    try:
        yield
    except ControlFlow as jump:
        name = "next" if isinstance(jump, Next) else "break" if isinstance(jump, Break) else "return"
        raise issues.ILLEGAL_JUMP.error(jump.source, jump.span, name=name) from None


def _unit(source: Source) -> SourceUnit:
    return translated(source.path, digests.of_bytes(source.text.encode()), source.text, "")


def _manifests(inputs: Inputs, place: str) -> list[SourceUnit]:
    """The environment's manifests: one file, or all in a directory in the order of their names."""
    paths = [place] if place.endswith(".pp") else _below(inputs, place)
    found = [(path, inputs.text(path)) for path in paths]
    return [translated(path, text[0], text[1], "") for path, text in found if text is not None]


def _below(inputs: Inputs, directory: str) -> list[str]:
    names = inputs.ask(Listing(directory))
    if names is ABSENT:
        return []
    paths: list[str] = []
    for name in names:
        if name.endswith("/"):
            paths += _below(inputs, f"{directory}/{name.rstrip('/')}")
        elif name.endswith(".pp"):
            paths.append(f"{directory}/{name}")
    return paths
