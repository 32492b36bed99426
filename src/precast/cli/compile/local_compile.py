"""Compiles the catalog that is applied on this machine, or takes it from a cache.

A catalog is a function of the reads of its compile. So the last compiles are cached with their reads, and if every question still has the
same answer, the cached catalog is used: no code is parsed, and the language is not even loaded. A catalog with secrets, or whose compile
logged something, is never cached.
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
MAX_CACHED = 32


class CompiledCatalog(msgspec.Struct, frozen=True):
    """A catalog, its digest, its source map, and the types in it that modules declare."""

    body: Body
    version: str
    places: SourceMap
    types: dict[str, ManagedType] = {}


class _CachedCompile(msgspec.Struct, frozen=True):
    stamp: str
    reads: list[tuple[msgspec.Raw, str | None]]  # questions, and answers as JSON; None if the value was absent
    compiled: CompiledCatalog


def compile_here(args: argparse.Namespace, certname: str) -> CompiledCatalog:
    """The catalog of this machine. Prints the log lines of the compile, and raises its errors."""
    inputs, settings = inputs_of(args, certname)
    manifest = manifest_of(args)
    path = _cache_path(args, certname, settings, manifest)
    cached = _read_cache(path, inputs)
    if cached is not None:
        return cached
    from precast.cli.compile.eval import print_logs, print_problems
    from precast.lang.compile import CompileFailure, compile_catalog

    try:
        result = compile_catalog(inputs, settings, manifest)
    except CompileFailure as failure:
        print_logs(failure.logs, inputs)
        print_problems(failure.problems)
        raise failure.error from None
    print_logs(result.logs, inputs)
    print_problems(result.problems)
    if result.refused:
        raise result.refused[0]
    compiled = CompiledCatalog(result.body, result.body.digest(), result.source_map, result.types)
    if not result.logs and not result.problems:
        _write_cache(path, result.trace, compiled)
    return compiled


def _cache_path(args: argparse.Namespace, certname: str, settings: Settings, manifest: Source | None) -> Path:
    """The file that caches the compile of these inputs."""
    code = None if manifest is None else [manifest.path, digests.of_bytes(manifest.text.encode())]
    environment = None if args.environment is None else str(Path(args.environment).resolve())
    key = digests.of_value([certname, msgspec.to_builtins(settings), environment, code])
    return (args.state or state_root(args.root)) / STATE / DIRECTORY / f"{key}.json"


def _read_cache(path: Path, inputs: Inputs) -> CompiledCatalog | None:
    """The cached catalog, if every question still has the same answer."""
    try:
        cached = msgspec.json.decode(path.read_bytes(), type=_CachedCompile)
    except (OSError, msgspec.MsgspecError):
        return None
    if cached.stamp != _code_stamp():
        return None
    try:
        is_same = all(
            _encode_answer(inputs.ask(_decode_question(question))) == answer for question, answer in cached.reads
        )
    except msgspec.MsgspecError:
        return None
    return cached.compiled if is_same else None


def _write_cache(path: Path, trace: tuple[Read, ...], compiled: CompiledCatalog) -> None:
    """Cache a compile. If the file cannot be written, the next run compiles again."""
    if (
        any(resource.sensitive_parameters for resource in compiled.body.resources)
        or b'"Sensitive"' in compiled.body.encoded()
    ):
        return
    from precast.base import files  # not needed when the cache is only read

    reads = [(msgspec.Raw(msgspec.json.encode(read.question)), _encode_answer(read.answer)) for read in trace]
    with contextlib.suppress(OSError):
        files.make_private_directory(path.parent.parent)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        cached_files = sorted(path.parent.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        for old in cached_files[: max(0, len(cached_files) - MAX_CACHED + 1)]:
            old.unlink()
        files.write_private(path, msgspec.json.encode(_CachedCompile(_code_stamp(), reads, compiled)))


def _encode_answer(answer: Any) -> str | None:
    return None if answer is ABSENT else msgspec.json.encode(answer).decode()


def _decode_question(question: msgspec.Raw) -> Question:
    return _decoder.decode(question)


_decoder: "msgspec.json.Decoder[Question]" = msgspec.json.Decoder(Union[tuple(Question.__subclasses__())])  # noqa: UP007


def _code_stamp() -> str:
    """A digest of our own code: another version of the compiler may make another catalog from the same answers."""
    lines: list[str] = [__version__]
    directories = [Path(questions.__file__).parent, Path(digests.__file__).parent.parent / "types"]
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    directories.append(Path(entry.path))
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    lines.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")
    return digests.of_bytes("\n".join(sorted(lines)).encode())
