"""Code from a git repository: one commit as plain files in a directory.

Only git itself speaks to the repository, with protocols that carry files and nothing else, and without asking anybody anything.
What comes out is an archive of one commit: no hooks, no filters of a working copy, no submodules.
"""

import os
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from precast.services import programs
from precast.services.code import issues as issues
from precast.services.code.archives import unpack
from precast.services.code.trees import MAX_FILES, MAX_TREE_BYTES

DEADLINE_S = 120.0
MAX_OUT_BYTES = 64 * 1024
PROTOCOLS = "https:ssh:file"
_URL = re.compile(r"(?:https|ssh|file)://[^\s\0-\x1f]+")
_SCP = re.compile(r"(?:[\w.-]+@)?[\w][\w.-]*:(?!:|//)[^\s\0-\x1f]+")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What git needs of ours to reach a repository as the user who runs it does.
_KEPT = ("HOME", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "GIT_SSH_COMMAND", "SSL_CERT_FILE", "LANG")


class Checkout(NamedTuple):
    """Where the files are, and which commit they are."""

    place: Path
    commit: str


def check_repository(repository: str) -> None:
    """Raises InputError ENV-020 for what could make git do something else than fetch."""
    is_local = repository.startswith("/") and repository.isprintable()
    is_known = bool(_URL.fullmatch(repository) or _SCP.fullmatch(repository))
    if not (is_local or is_known) or "::" in repository or len(repository) > 1000:
        raise issues.BAD_REPOSITORY.error(repository=repr(shown(repository)[:200]))


def check_remote(repository: str) -> None:
    """Raises InputError ENV-020 for what is not fetched over the network, too."""
    check_repository(repository)
    if repository.startswith(("/", "file:")):
        raise issues.BAD_REPOSITORY.error(repository=repr(shown(repository)[:200]))


def check_ref(ref: str) -> None:
    """Raises InputError ENV-021."""
    if not _REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", "/", ".")):
        raise issues.BAD_REF.error(ref=repr(ref[:200]))


async def check_out(repository: str, ref: str, room: Path) -> Checkout:
    """Fetch one commit into an empty directory. Raises InputError ENV-020, ENV-021, UnavailableError ENV-022."""
    check_repository(repository)
    check_ref(ref)
    bare, place, archive = room / "git", room / "files", room / "files.tar"
    await _git(repository, room, "init", "--quiet", "--bare", bare)
    if _COMMIT.fullmatch(ref):  # few servers give out a commit by its name alone
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
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"GIT_ALLOW_PROTOCOL": PROTOCOLS, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true"}
    ended = await programs.run(
        # A repository of another user's is only read here, and nothing of its configuration is asked.
        ["git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", *words],
        deadline_s=DEADLINE_S,
        max_out_bytes=MAX_OUT_BYTES,
        environment=environment,
        directory=directory,
    )
    if ended.trouble:
        reason = " ".join(ended.trouble.split())[:300]
        raise issues.GIT_FAILED.error(repository=shown(repository), reason=reason)
    return ended.out.decode(errors="replace")


def _unpack(archive: Path, place: Path) -> None:
    try:
        with tarfile.open(archive) as packed:
            members = packed.getmembers()
            if len(members) > 2 * MAX_FILES:
                raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
            if sum(one.size for one in members) > MAX_TREE_BYTES:
                raise issues.TREE_TOO_LARGE.error(what="bytes", limit=MAX_TREE_BYTES)
            unpack(packed, members, place)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise issues.BAD_TREE.error(reason=str(error)[:200]) from None


def shown(repository: str) -> str:
    """Without a password that somebody wrote into it."""
    return re.sub(r"//[^/@]*@", "//", repository)
