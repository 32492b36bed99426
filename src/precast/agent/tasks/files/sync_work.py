"""Makes a directory equal to a source, by rsync.

rsync is found on a fixed search path, is started without a shell, and gets a small environment. Files belong to root. rsync follows what
it meets in the directory, so nobody but root may be able to change the directory or one above it.
"""

import os.path
import shutil
from pathlib import Path

from precast.agent.tasks.context import MAX_MESSAGE_CHARS, StepOutcome, TaskContext, failed
from precast.agent.tasks.files import issues
from precast.agent.tasks.files.outcomes import succeeded
from precast.base import programs
from precast.base.programs import SEARCH_PATH, ProgramResult, StartOptions
from precast.resources.files import atomic_writes, safe_paths, safe_reads
from precast.wire.jobs.programs import SyncWork

# Permissions and links are those of the source, owners are not; devices and other special files are left out.
OPTIONS = ("--recursive", "--links", "--perms", "--times", "--checksum", "--delete", "--out-format=%i")
# A line of 12 bytes for each change.
MAX_OUT_BYTES = 16 * 1024 * 1024
# Before the deadline, to tell that it is over.
RESERVE_S = 2.0
_NEW_DIRECTORY = 0o755
_DELETED = b"*deleting"


def sync_directory(context: TaskContext, work: SyncWork) -> StepOutcome:
    """Let the directory have what the source has, and nothing else.

    Raises NotFoundError AGENT-065 if there is no rsync, InputError AGENT-066, DeniedError AGENT-067, UnavailableError AGENT-056.
    """
    program = shutil.which("rsync", path=SEARCH_PATH)
    if program is None:
        raise issues.NO_RSYNC.error()
    source, target = _check_source(work.source), _prepare_target(context.root, work.target)
    deadline_s = max(context.left_s - RESERVE_S, 0.0)
    options = StartOptions(umask=0o022, keeps_last=True)
    try:
        ended = programs.run([program, *OPTIONS, "--", source, target], deadline_s, MAX_OUT_BYTES, options)
    except TimeoutError:
        return failed(f"{work.target}: rsync has not ended within {deadline_s:.0f} s, and was killed")
    except OSError as error:
        return failed(f"{program} cannot be run: {error.strerror}")
    if ended.code != 0:
        return _explain(ended, work)
    changes = ended.out.splitlines()
    deleted = sum(line.startswith(_DELETED) for line in changes)
    done = f"{len(changes) - deleted} entries written, {deleted} deleted" if changes else "unchanged"
    context.say(f"{work.target}: {done}")
    return succeeded({"changed": len(changes) - deleted, "deleted": deleted})


def _explain(ended: ProgramResult, work: SyncWork) -> StepOutcome:
    """The failure, with the first line that rsync has printed: the last one only repeats its exit code."""
    first_line = ended.error.decode(errors="replace").strip().partition("\n")[0]
    code, signal = (ended.code, None) if ended.code > 0 else (None, -ended.code)
    how = f"has ended with {code}" if signal is None else f"was ended by signal {signal}"
    outcome = failed(f"{work.target}: rsync {how}")
    return StepOutcome(False, outcome.message, code, signal, telling_line=first_line[:MAX_MESSAGE_CHARS])


def _check_source(source: str) -> str:
    """The source of the content of a directory. Raises InputError AGENT-066 if it could be taken for an option."""
    if not source.isprintable() or source.startswith("-") or not (source.startswith("/") or ":" in source):
        raise issues.BAD_SYNC.error(what=repr(source[:200]), reason="it is not a source of rsync")
    return f"{source.rstrip('/')}/"


def _prepare_target(root: Path, target: str) -> str:
    """The path of the directory on this machine; it is created. Raises InputError AGENT-066, DeniedError AGENT-067."""
    path = os.path.normpath(target)
    if not target.startswith("/") or not target.isprintable() or path.strip("/") == "":
        wrong = "it is not the absolute path of a directory below /"
        raise issues.BAD_SYNC.error(what=repr(target[:200]), reason=wrong)
    parents = safe_reads.root_parents(str(root))
    try:
        if reason := safe_reads.find_distrust(parents, path):
            raise issues.UNTRUSTED_TARGET.error(path=path, reason=reason)
        atomic_writes.make_directories(parents, path, _NEW_DIRECTORY)
        if not safe_reads.is_directory(parents, path):
            raise issues.BAD_SYNC.error(what=path, reason="it is not a directory")
    except OSError as error:
        raise issues.CANNOT_WRITE.error(path=path, reason=error.strerror or error) from None
    return f"{safe_paths.resolve('' if str(root) == '/' else str(root), path)}/"
