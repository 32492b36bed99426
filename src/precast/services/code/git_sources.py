"""Fetches code from a git repository: one commit as plain files in a directory.

Only git itself contacts the repository, over protocols that can only transfer files, and without prompts. The result is an archive
of one commit: no hooks, no filters of a working copy, no submodules.
"""

import os
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from precast.base import async_programs
from precast.services.code import issues
from precast.services.code.archives import unpack
from precast.services.code.file_trees import MAX_FILES, MAX_TREE_BYTES

DEADLINE_S = 120.0
MAX_OUT_BYTES = 64 * 1024
PROTOCOLS = "https:ssh:file"
_URL = re.compile(r"(?:https|ssh|file)://[^\s\0-\x1f]+")
_SCP = re.compile(r"(?:[\w.-]+@)?[\w][\w.-]*:(?!:|//)[^\s\0-\x1f]+")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# The environment variables that git needs to reach a repository as its user does.
_PASSED_VARIABLES = ("HOME", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "GIT_SSH_COMMAND", "SSL_CERT_FILE", "LANG")


class Checkout(NamedTuple):
    """The directory of the files, and their commit."""

    place: Path
    commit: str


def check_repository(repository: str) -> None:
    """Raises InputError ENV-020 for an address that could make git do anything but fetch."""
    is_local = repository.startswith("/") and repository.isprintable()
    is_known = bool(_URL.fullmatch(repository) or _SCP.fullmatch(repository))
    if not (is_local or is_known) or "::" in repository or len(repository) > 1000:
        raise issues.BAD_REPOSITORY.error(repository=repr(redact_url(repository)[:200]))


def check_remote(repository: str) -> None:
    """Raises InputError ENV-020 as `check_repository` does, and also for a local repository."""
    check_repository(repository)
    if repository.startswith(("/", "file:")):
        raise issues.BAD_REPOSITORY.error(repository=repr(redact_url(repository)[:200]))


def check_ref(ref: str) -> None:
    """Raises InputError ENV-021."""
    if not _REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", "/", ".")):
        raise issues.BAD_REF.error(ref=repr(ref[:200]))


async def check_out(repository: str, ref: str, directory: Path) -> Checkout:
    """Fetch one commit into an empty directory. Raises InputError ENV-020, ENV-021, UnavailableError ENV-022."""
    check_repository(repository)
    check_ref(ref)
    bare, place, archive = directory / "git", directory / "files", directory / "files.tar"
    await _git(repository, directory, "init", "--quiet", "--bare", bare)
    if _COMMIT.fullmatch(ref):  # few servers allow fetching a commit by its hash
        await _git(repository, bare, "fetch", "--quiet", "--no-tags", "--", repository, "+refs/*:refs/fetched/*")
        named = ref
    else:
        await _git(repository, bare, "fetch", "--quiet", "--no-tags", "--depth=1", "--", repository, ref)
        named = "FETCH_HEAD"
    commit = (await _git(repository, bare, "rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")).strip()
    await _git(repository, bare, "archive", "--format=tar", f"--output={archive}", commit)
    _unpack(archive, place)
    return Checkout(place, commit)


async def _git(repository: str, directory: Path, *words: str | Path) -> str:
    environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    environment |= {"GIT_ALLOW_PROTOCOL": PROTOCOLS, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true"}
    ended = await async_programs.run(
        # The repository may belong to another user: git only reads it, and ignores its hooks and configuration.
        ["git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", *words],
        deadline_s=DEADLINE_S,
        max_out_bytes=MAX_OUT_BYTES,
        environment=environment,
        directory=directory,
    )
    if ended.trouble:
        reason = " ".join(ended.trouble.split())[:300]
        raise issues.GIT_FAILED.error(repository=redact_url(repository), reason=reason)
    return ended.out.decode(errors="replace")


def _unpack(archive: Path, place: Path) -> None:
    try:
        with tarfile.open(archive) as tar:
            members = tar.getmembers()
            if len(members) > 2 * MAX_FILES:
                raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
            if sum(member.size for member in members) > MAX_TREE_BYTES:
                raise issues.TREE_TOO_LARGE.error(what="bytes", limit=MAX_TREE_BYTES)
            unpack(tar, members, place)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise issues.BAD_TREE.error(reason=str(error)[:200]) from None


def redact_url(repository: str) -> str:
    """Remove a user name and password from an address."""
    return re.sub(r"//[^/@]*@", "//", repository)
