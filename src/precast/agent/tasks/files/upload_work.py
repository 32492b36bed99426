"""Writes a file whose text is in the plan, or in the input `data`."""

import io
from collections.abc import Mapping
from typing import Any

from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.agent.tasks.files import issues
from precast.agent.tasks.files.file_writes import FileModes, NewContent, write_file
from precast.agent.tasks.files.outcomes import succeeded
from precast.base import digests
from precast.wire.jobs.programs import UploadWork

INPUT = "data"


def upload_file(context: TaskContext, work: UploadWork, inputs: Mapping[str, Any]) -> StepOutcome:
    """Let the file have the text. The output says what was done, never the text.

    Raises InputError AGENT-060 if the input is not a text, and as `write_file` does.
    """
    data = _encode(inputs.get(INPUT) if work.data is None else work.data)
    content = NewContent(digests.of_bytes(data), len(data), lambda: io.BytesIO(data))
    written = write_file(context.root, work.path, content, FileModes(work.mode, work.directory_mode))
    context.say(str(written))
    return succeeded({"changed": written.change != "unchanged"})


def _encode(text: object) -> bytes:
    if not isinstance(text, str):
        reason = "it is missing" if text is None else f"it is a {type(text).__name__}, and not a text"
        raise issues.BAD_INPUT.error(name=INPUT, reason=reason)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise issues.BAD_INPUT.error(name=INPUT, reason="it cannot be written in UTF-8") from None
