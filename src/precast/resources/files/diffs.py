"""Shows a change of content as a unified diff, unless it is too long or not text."""

from typing import BinaryIO

_LIMIT_BYTES = 128 * 1024


def diff_streams(path: str, old: BinaryIO, new: BinaryIO) -> str:
    """The diff, or a line that says why there is none."""
    before, after = old.read(_LIMIT_BYTES + 1), new.read(_LIMIT_BYTES + 1)
    if len(before) > _LIMIT_BYTES or len(after) > _LIMIT_BYTES:
        return f"(the content is too long to be shown: more than {_LIMIT_BYTES // 1024} KiB)\n"
    try:
        if b"\0" in before or b"\0" in after:
            raise ValueError
        texts = before.decode(), after.decode()
    except ValueError:
        return "(the content is not text, and is not shown)\n"
    return diff_texts(path, *texts)


def diff_texts(path: str, before: str, after: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), path, f"{path} (desired)"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
