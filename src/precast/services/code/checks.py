"""Whether the code of a tree can be read, asked of a process of its own."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from precast.lang.answers import FileStore, NodeAnswers, NodeData
from precast.lang.compiler.environment import FILE, remarks, with_environment
from precast.lang.inputs import Inputs
from precast.lang.settings import Settings
from precast.lang.syntax.validation import is_checked
from precast.services import programs
from precast.services.code import issues as issues
from precast.services.code.check_child import Report, frame
from precast.services.code.trees import File, Tree, TreeFiles

DEADLINE_S = 240.0
MAX_OUT_BYTES = 4 * 1024 * 1024
# Code that is larger is generated, or none.
MAX_CODE_BYTES = 8 * 1024 * 1024

Content = Callable[[str], Awaitable[bytes]]


def to_check(tree: Tree, known: Tree | None) -> list[tuple[str, File]]:
    """The files of a tree that must be looked at: those that the version before had not, or had not there."""
    before = known.files if known is not None else {}
    return [
        (path, file)
        for path, file in sorted(tree.files.items())
        if is_checked(path) and (path not in before or before[path].digest != file.digest)
    ]


def look_at_settings(tree: Tree, text: bytes) -> list[str]:
    """What the owner of an environment.conf should know: modules outside are not part of a version.

    Raises InputError for settings that no compile could use.
    """
    files = FileStore(TreeFiles(tree, lambda _: text))
    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files))
    outside = [path for path in with_environment(inputs, Settings()).module_path if path.startswith(("/", "../"))]
    return [
        *(
            f"{FILE}: warning: modules in {path} are not deployed: only what is in the environment is"
            for path in outside
        ),
        *(f"{FILE}: {level}: {said.removeprefix(f'{FILE}: ')}" for level, said in remarks(inputs)),
    ]


async def check_files(environment: str, files: Sequence[tuple[str, File]], content: Content) -> Report:
    """The findings about these files. Raises UnavailableError ENV-009 if they cannot be had. Cancelling ends the check."""
    if not files:
        return Report([], 0, [], 0)

    async def frames() -> AsyncIterator[bytes]:
        for path, file in files:
            yield frame(path, await content(file.digest) if file.size <= MAX_CODE_BYTES else b"\xff")

    words = [sys.executable, "-I", "-m", "precast.services.code.check_child"]
    ended = await programs.run(
        words, deadline_s=DEADLINE_S, max_out_bytes=MAX_OUT_BYTES, environment={}, stdin=frames()
    )
    if ended.trouble:
        raise issues.CHECK_FAILED.error(environment=environment, reason=ended.trouble.splitlines()[-1])
    return msgspec.json.decode(ended.out, type=Report)
