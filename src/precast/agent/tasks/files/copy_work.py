"""Writes files whose content another node has collected.

Content is fetched only for files that differ, and deleted when they are written: it may be secret.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from precast.agent.issues import CANNOT_KEEP
from precast.agent.state import paths
from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.agent.tasks.files import issues
from precast.agent.tasks.files.file_writes import FileModes, NewContent, write_file
from precast.agent.tasks.files.outcomes import succeeded
from precast.agent.tasks.files.server_content import ServerContent
from precast.wire.jobs.programs import CopyWork
from precast.wire.plans.task_content import CollectedFile

DIRECTORY = paths.STATE / paths.TASK_CONTENT / "copies"
INPUT = "collected"


def copy_files(context: TaskContext, work: CopyWork, inputs: Mapping[str, Any]) -> StepOutcome:
    """Let each target have the content of its source, and its mode if the plan gives none.

    Raises InputError AGENT-060, AGENT-061, UnavailableError AGENT-064, and as `ServerContent.fetch` and `write_file` do.
    """
    collected = _read_collected(inputs)
    for file in work.files:  # nothing is written if one of them is missing
        if file.source not in collected:
            raise issues.NOT_COLLECTED.error(source=file.source)
    directory, changed = context.root / DIRECTORY, 0
    _delete_contents(directory)  # a step that was killed has left some
    try:
        with ServerContent(context) as server:
            for file in work.files:
                if context.must_stop():
                    raise issues.STOPPED.error()
                found = collected[file.source]
                content = NewContent(found.digest, found.size, _opener(server, directory, found.digest))
                wanted = FileModes(work.mode or found.mode, work.directory_mode)
                written = write_file(context.root, file.target, content, wanted)
                changed += written.change != "unchanged"
                context.say(str(written))
    finally:
        _delete_contents(directory)
    return succeeded({"changed": changed, "unchanged": len(work.files) - changed})


def _read_collected(inputs: Mapping[str, Any]) -> dict[str, CollectedFile]:
    try:
        return msgspec.convert(inputs.get(INPUT), dict[str, CollectedFile])
    except msgspec.ValidationError as error:
        raise issues.BAD_INPUT.error(name=INPUT, reason=error) from None


def _opener(server: ServerContent, directory: Path, digest: str) -> Callable[[], BinaryIO]:
    return lambda: server.fetch(digest, directory).open("rb")


def _delete_contents(directory: Path) -> None:
    try:
        for path in directory.iterdir() if directory.is_dir() else ():
            path.unlink()
    except OSError as error:
        raise CANNOT_KEEP.error(path=directory, reason=error.strerror) from None
