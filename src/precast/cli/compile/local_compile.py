"""Compiles what is to be applied here, if it must be.

A catalog is a function of what its compile read. So the last compiles are kept with their reads, and when every question has the same
answer as then, the catalog is the one that was made then: no code is parsed, and the language is not even loaded. What holds something
secret, or has something to say, is never kept.
"""

import argparse
import contextlib
import os
from pathlib import Path
from typing import Any, Union

import msgspec

from precast import __version__
from precast.agent.applying.run import state_root
from precast.agent.state.paths import STATE
from precast.base import digests
from precast.base.spans import Source
from precast.catalog.body import Body
from precast.catalog.source_map import SourceMap
from precast.cli.compile.local_inputs import inputs_of, manifest_of
from precast.lang import inputs as questions
from precast.lang.inputs import ABSENT, Inputs, Question, Read
from precast.lang.settings import Settings
from precast.types.declaration import ManagedType

DIRECTORY = "compiles"
MOST = 32  # compiles that are kept


class Compiled(msgspec.Struct, frozen=True):
    """A catalog, its digest, where its parts were declared, and the types in it that modules declare."""

    body: Body
    version: str
    places: SourceMap
    types: dict[str, ManagedType] = {}


class _Kept(msgspec.Struct, frozen=True):
    stamp: str
    reads: list[tuple[msgspec.Raw, str | None]]  # questions, and answers as JSON; None for what was absent
    compiled: Compiled


def compile_here(args: argparse.Namespace, certname: str) -> Compiled:
    """The catalog of this machine. Prints what the compile says. Raises what it raises."""
    inputs, settings = inputs_of(args, certname)
    manifest = manifest_of(args)
    place = _place(args, certname, settings, manifest)
    kept = _recall(place, inputs)
    if kept is not None:
        return kept
    from precast.cli.compile.eval import print_logs
    from precast.lang.compile import CompileFailure, compile_catalog

    try:
        result = compile_catalog(inputs, settings, manifest)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        raise failure.error from None
    print_logs(result.logs, inputs)
    compiled = Compiled(result.body, result.body.digest(), result.source_map, result.types)
    if not result.logs:
        _keep(place, result.trace, compiled)
    return compiled


def _place(args: argparse.Namespace, certname: str, settings: Settings, manifest: Source | None) -> Path:
    """Where the compile of these inputs is kept."""
    code = None if manifest is None else [manifest.path, digests.of_bytes(manifest.text.encode())]
    environment = None if args.environment is None else str(Path(args.environment).resolve())
    key = digests.of_value([certname, msgspec.to_builtins(settings), environment, code])
    return (args.state or state_root(args.root)) / STATE / DIRECTORY / f"{key}.json"


def _recall(place: Path, inputs: Inputs) -> Compiled | None:
    """The kept catalog, if every question still has its answer."""
    try:
        kept = msgspec.json.decode(place.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    if kept.stamp != _stamp():
        return None
    try:
        is_same = all(_encoded(inputs.ask(_asked(question))) == answer for question, answer in kept.reads)
    except msgspec.MsgspecError:
        return None
    return kept.compiled if is_same else None


def _keep(place: Path, trace: tuple[Read, ...], compiled: Compiled) -> None:
    """Keep a compile for the next time; where that cannot be, the next time compiles."""
    if any(each.sensitive_parameters for each in compiled.body.resources) or b'"Sensitive"' in compiled.body.encoded():
        return
    from precast.base import files  # whoever only recalls writes nothing

    reads = [(msgspec.Raw(msgspec.json.encode(each.question)), _encoded(each.answer)) for each in trace]
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = sorted(place.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in known[: max(0, len(known) - MOST + 1)]:
            old.unlink()
        files.write_private(place, msgspec.json.encode(_Kept(_stamp(), reads, compiled)))


def _encoded(answer: Any) -> str | None:
    return None if answer is ABSENT else msgspec.json.encode(answer).decode()


def _asked(question: msgspec.Raw) -> Question:
    return _decoder.decode(question)


_decoder: "msgspec.json.Decoder[Question]" = msgspec.json.Decoder(Union[tuple(Question.__subclasses__())])  # noqa: UP007


def _stamp() -> str:
    """Changes with our own code: another compiler may make another catalog of the same answers."""
    lines: list[str] = [__version__]
    waiting = [Path(questions.__file__).parent, Path(digests.__file__).parent.parent / "types"]
    while waiting:
        with os.scandir(waiting.pop()) as found:
            for entry in found:
                if entry.is_dir():
                    waiting.append(Path(entry.path))
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    lines.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")
    return digests.of_bytes("\n".join(sorted(lines)).encode())
