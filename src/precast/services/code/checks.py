"""Checks the code and the settings of a file tree before it is deployed; code is parsed in a separate process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from precast.base import async_programs
from precast.base.confinement.children import command
from precast.base.confinement.confine import Level
from precast.lang.compiler.environment import FILE, remarks, with_environment
from precast.lang.file_trees import FileStore
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.lang.syntax.validation import is_checked
from precast.services.code import issues
from precast.services.code.check_child import CheckReport, encode_file
from precast.services.code.file_trees import FileTree, TreeFile, TreeFiles

DEADLINE_S = 240.0
MAX_OUT_BYTES = 4 * 1024 * 1024
# A larger file is not code that a person wrote, so it is refused.
MAX_CODE_BYTES = 8 * 1024 * 1024
# The server itself reads an environment.conf, so it is small.
MAX_SETTINGS_BYTES = 64 * 1024
MAX_MODULE_PATHS = 100
MAX_WILDCARDS = 10

Content = Callable[[str], Awaitable[bytes]]


def select_changed_files(tree: FileTree, known: FileTree | None) -> list[tuple[str, TreeFile]]:
    """Select the files to check: those whose path or content differs from the previous version."""
    before = known.files if known is not None else {}
    return [
        (path, file)
        for path, file in sorted(tree.files.items())
        if is_checked(path) and (path not in before or before[path].digest != file.digest)
    ]


def check_settings(tree: FileTree, text: bytes) -> list[str]:
    """Check an environment.conf; returns warnings, such as for modules outside the environment, which are not deployed.

    Raises InputError for settings that no compile could use.
    """
    if len(text) > MAX_SETTINGS_BYTES or text.count(b":") > MAX_MODULE_PATHS or text.count(b"*") > MAX_WILDCARDS:
        raise issues.BAD_SETTINGS.error(size=MAX_SETTINGS_BYTES, paths=MAX_MODULE_PATHS, wildcards=MAX_WILDCARDS)
    files = FileStore(TreeFiles(tree, lambda _: text))
    inputs = Inputs(NodeAnswers(NodeData.local("localhost", {}), files))
    outside = [path for path in with_environment(inputs, Settings()).module_path if path.startswith(("/", "../"))]
    return [
        *(
            f"{FILE}: warning: modules in {path} are not deployed, because they are outside the environment"
            for path in outside
        ),
        *(f"{FILE}: {level}: {remark.removeprefix(f'{FILE}: ')}" for level, remark in remarks(inputs)),
    ]


def check_command(level: Level) -> list[str]:
    """The command that starts the child process."""
    return command("precast.services.code.check_child", level=level)


async def check_files(
    environment: str, files: Sequence[tuple[str, TreeFile]], content: Content, level: Level = Level.STRICT
) -> CheckReport:
    """Check files in a child process. Raises UnavailableError ENV-009 if the process fails. Cancelling ends it."""
    if not files:
        return CheckReport([], 0, [], 0)

    async def frames() -> AsyncIterator[bytes]:
        for path, file in files:
            yield encode_file(path, await content(file.digest) if file.size <= MAX_CODE_BYTES else b"\xff")

    ended = await async_programs.run(
        check_command(level), deadline_s=DEADLINE_S, max_out_bytes=MAX_OUT_BYTES, environment={}, stdin=frames()
    )
    if ended.trouble:
        raise issues.CHECK_FAILED.error(environment=environment, reason=ended.trouble.splitlines()[-1])
    return msgspec.json.decode(ended.out, type=CheckReport)
