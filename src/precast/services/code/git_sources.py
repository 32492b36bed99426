"""Fetches code from a git repository: one commit as plain files in a directory. It waits for the network and for git."""

from pathlib import Path
from typing import NamedTuple

from precast.base.repository_addresses import RepositoryAddress, redact_address
from precast.services.code import issues
from precast.services.code.address_policy import check_address
from precast.services.code.git_program import Git, is_commit, is_ref


class Checkout(NamedTuple):
    """The directory of the files, their commit, and the bare repository that has it."""

    place: Path
    commit: str
    repository: Path


def check_ref(ref: str) -> None:
    """Raises InputError ENV-021."""
    if not is_ref(ref):
        raise issues.BAD_REF.error(ref=repr(ref[:200]))


def check_out(git: Git, repository: str, ref: str, directory: Path) -> Checkout:
    """Fetch one commit into an empty directory. Raises InputError ENV-020, ENV-021, UnavailableError ENV-022."""
    check_ref(ref)
    address = check_address(repository, git.policy)
    bare, place = directory / "git", directory / "files"
    git.create(bare)
    commit = _fetch(git, address, ref, bare)
    place.mkdir()
    git.write_files(bare, commit, place)
    return Checkout(place, commit, bare)


def _fetch(git: Git, address: RepositoryAddress, ref: str, bare: Path) -> str:
    options = ("--quiet", "--no-tags", "--no-recurse-submodules")
    # Few servers allow fetching a commit by its hash.
    words = ("+refs/*:refs/fetched/*",) if is_commit(ref) else ("--depth=1", ref)
    git.check(address.text, git.fetch(bare, address, *options, *words))
    commit = git.resolve(bare, ref if is_commit(ref) else "FETCH_HEAD")
    if commit is None:
        raise issues.GIT_FAILED.error(repository=redact_address(address.text), reason=f"it has no commit {ref}")
    return commit
