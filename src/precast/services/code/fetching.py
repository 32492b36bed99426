"""Fetches code from repositories in a child process with limits of time, memory, disk and files; the server never evaluates it.

The child and everything that it started end with the fetch, however it ends. While it runs, the bytes and files below its directories are
counted, and it is killed when there are too many.
"""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base import async_programs
from precast.base.confinement.children import command
from precast.base.confinement.confine import Level
from precast.base.errors import Kind, PrecastError
from precast.base.repository_addresses import redact_address
from precast.services.code import issues
from precast.services.code.address_policy import AddressPolicy
from precast.services.code.fetch_child import FetchedCode, FetchRequest, FetchResult
from precast.services.code.file_trees import MAX_TREE_BYTES, FileTree

MODULE = "precast.services.code.fetch_child"
LEFTOVER_S = 6 * 3600.0
MAX_OUT_BYTES = 64 * 1024 * 1024
_PASSED_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "GIT_SSH_COMMAND", "SSL_CERT_FILE", "SSL_CERT_DIR", "LANG")


class FetchLimits(NamedTuple):
    """What one fetch may use. The cache is emptied, oldest repositories first, when it exceeds its share."""

    seconds: float = 600.0
    # The repository with its objects, and all files twice: as git stores them and as they are written.
    work_bytes: int = 3 * MAX_TREE_BYTES
    cache_bytes: int = 4 * 1024**3
    files: int = 300_000
    every_s: float = 0.5
    level: Level = Level.STRICT


class FetchedTree(NamedTuple):
    """The commit, the files of the tree, the path of the content of each digest, and the bare repository that has the commit."""

    commit: str
    tree: FileTree
    places: Mapping[str, Path]
    repository: Path


class CodeFetcher:
    """Fetches code; holds no state between calls. `directories` and `hosts` are allowed to the authors of Puppetfiles."""

    def __init__(
        self,
        cache: Path,
        directories: tuple[str, ...] = (),
        hosts: tuple[str, ...] = (),
        limits: FetchLimits | None = None,
    ) -> None:
        self._cache = cache
        self._policy = AddressPolicy(directories=directories, hosts=hosts)
        self._limits = limits or FetchLimits()

    async def fetch(self, repository: str, ref: str, policy: AddressPolicy, work: Path) -> FetchedTree:
        """Fetch a repository that the server's administrator has chosen, and its modules, into an empty directory.

        Raises InputError ENV-002, ENV-003, ENV-020, ENV-021, MODULE-001 to MODULE-037, UnavailableError ENV-022, ENV-036. Cancelling
        kills the child with all it started.
        """
        await asyncio.to_thread(self._prepare)
        request = FetchRequest(repository, ref, str(work), str(self._cache), policy, self._policy)
        result = await self._run(request, work)
        if (problem := result.problem) is not None and problem.kind in [kind.value for kind in Kind]:
            raise PrecastError.of_kind(Kind(problem.kind), problem.code, problem.message, problem.hint)
        if result.code is None:
            raise _unreadable(request)
        tree, places = await asyncio.to_thread(_read_listing, result.code, work)
        return FetchedTree(result.code.commit, tree, places, work / "git")

    def _prepare(self) -> None:
        self._cache.mkdir(parents=True, exist_ok=True)
        prune_cache(self._cache, self._limits.cache_bytes)

    async def _run(self, request: FetchRequest, work: Path) -> FetchResult:
        running = asyncio.ensure_future(
            async_programs.run(
                command(MODULE, level=self._limits.level),
                deadline_s=self._limits.seconds,
                max_out_bytes=MAX_OUT_BYTES,
                environment={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
                stdin=_once(msgspec.json.encode(request)),
            )
        )
        watching = asyncio.ensure_future(self._watch(work))
        try:
            await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
            reason = watching.result() if watching.done() else ""
            trouble = reason or (ended := await running).trouble or await asyncio.to_thread(self._find_excess, work)
        finally:
            running.cancel()
            watching.cancel()
            await asyncio.gather(running, watching, return_exceptions=True)
        if trouble:
            what = redact_address(request.repository)
            raise issues.FETCH_FAILED.error(repository=what, reason=" ".join(trouble.split())[-300:])
        try:
            return msgspec.msgpack.decode(ended.out, type=FetchResult)
        except msgspec.MsgspecError:
            raise _unreadable(request) from None

    async def _watch(self, work: Path) -> str:
        """Wait until a directory has too many bytes or files; returns which."""
        while True:
            await asyncio.sleep(self._limits.every_s)
            if excess := await asyncio.to_thread(self._find_excess, work):
                return excess

    def _find_excess(self, work: Path) -> str:
        limits = self._limits
        work_bytes, work_files = _measure(work)
        cache_bytes, cache_files = _measure(self._cache)
        if work_bytes > limits.work_bytes or cache_bytes > limits.cache_bytes + limits.work_bytes:
            return f"it has more than {limits.work_bytes // 1024**2} MB"
        if max(work_files, cache_files) > limits.files:
            return f"it has more than {limits.files} files"
        return ""


def prune_cache(cache: Path, most_bytes: int) -> None:
    """Delete repositories, those that were used least recently first, until the rest is within the limit."""
    copies = sorted((path for path in cache.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    sizes = {path: _measure(path)[0] for path in copies}
    total = sum(sizes.values())
    for path in copies:
        if total <= most_bytes:
            break
        shutil.rmtree(path, ignore_errors=True)
        total -= sizes[path]


def remove_leftovers(spool: Path, prefix: str) -> None:
    """Delete the directories of fetches whose server was killed: those that are older than a fetch can take."""
    before_s = time.time() - LEFTOVER_S
    for path in spool.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink() and path.stat().st_mtime < before_s:
                shutil.rmtree(path, ignore_errors=True)


def _measure(directory: Path) -> tuple[int, int]:
    """The bytes and the number of files below a directory that another process may be changing."""
    total = count = 0
    for size in _sizes(directory):
        total += size
        count += 1
    return total, count


def _sizes(directory: Path) -> Iterator[int]:
    waiting = [str(directory)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry.stat(follow_symlinks=False).st_size
        except OSError:  # it was deleted
            continue


def _read_listing(code: FetchedCode, work: Path) -> tuple[FileTree, dict[str, Path]]:
    """The tree that a fetch reports, and the path of the content of each digest. Raises InputError ENV-002, ENV-003."""
    tree = FileTree.decode(code.manifest)
    root = work.resolve() / "files"  # not resolved itself: it belongs to the process that fetched
    places = {digest: _inside(root, code.places.get(digest, "..")) for digest in tree.digests}
    return tree, places


def _inside(root: Path, path: str) -> Path:
    """The path of a fetched file. Raises InputError ENV-002 if it leads out of the directory."""
    place = (root / path).resolve()
    if not place.is_relative_to(root):
        raise issues.BAD_TREE.error(reason=f"{path[:80]!r} points outside the directory")
    return place


def _unreadable(request: FetchRequest) -> Exception:
    return issues.FETCH_FAILED.error(repository=redact_address(request.repository), reason="its result is unreadable")


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
