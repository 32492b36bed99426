"""Fetches the repositories of modules and writes their commits. A bare copy of each is cached, so that a known commit needs no network."""

import hashlib
from pathlib import Path
from typing import Final

from precast.base import programs
from precast.base.redaction import redact
from precast.base.repository_addresses import RepositoryAddress
from precast.lang.ruby.declarations.puppetfile import ModuleSource
from precast.services.code.address_policy import check_address
from precast.services.code.git_program import Git, explain, is_commit, is_ref
from precast.services.code.modules import issues

_REFERENCE_FORMS: Final = {
    "tag": ("refs/tags/{}",),
    "branch": ("refs/heads/{}",),
    "commit": ("{}",),
    "ref": ("refs/tags/{}", "refs/heads/{}", "{}"),
}
_SPECS: Final = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class GitRepositories:
    """Bare copies of repositories below one cache directory."""

    def __init__(self, git: Git, directory: Path, base: Path) -> None:
        self._git = git
        self._directory = directory
        self._base = base  # paths in a Puppetfile are relative to it
        self._fetched: set[str] = set()

    def commit(self, module: ModuleSource) -> str:
        """Resolve the reference of a module to a commit. Raises MODULE-021 to MODULE-023, InputError ENV-020."""
        copy = self._copy(module)
        is_known = module.reference_kind in ("commit", "ref") and is_commit(module.reference)
        if not is_known or self._git.resolve(copy, module.reference) is None:
            self._fetch(module, copy)
        names = [form.format(module.reference) for form in _REFERENCE_FORMS.get(module.reference_kind, ())]
        names += [f"refs/heads/{module.default_branch}"] if module.default_branch else []
        names += ["HEAD"] if not module.reference else []
        for name in names:
            commit = self._git.resolve(copy, name)
            if commit is not None:
                return commit
        raise issues.NO_REFERENCE.error(
            name=module.name,
            url=redact(module.url),
            kind=module.reference_kind or "branch",
            reference=module.reference or "that is its default",
        )

    def export(self, module: ModuleSource, commit: str, target: Path) -> None:
        """Write the files of a commit into an empty directory. Raises MODULE-021 to MODULE-023, InputError ENV-020, ENV-037."""
        copy = self._copy(module)
        if not is_commit(commit) or self._git.resolve(copy, commit) is None:
            self._fetch(module, copy)
        if is_commit(commit) and self._git.resolve(copy, commit) is None:
            raise issues.NO_REFERENCE.error(name=module.name, url=redact(module.url), kind="commit", reference=commit)
        self._git.write_files(copy, commit, target)

    def _address(self, module: ModuleSource) -> RepositoryAddress:
        return check_address(module.url, self._git.policy, self._base)

    def _copy(self, module: ModuleSource) -> Path:
        """Return the bare copy of a module's repository; create it if it does not exist."""
        address = self._address(module)
        key = address.path if address.is_local else address.text
        copy = self._directory / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.git"
        self._git.create(copy)
        return copy

    def _fetch(self, module: ModuleSource, copy: Path) -> None:
        """Fetch the repository, once for each object of this class, and its HEAD, which names the default branch."""
        if module.url in self._fetched:
            return
        address = self._address(module)
        options = ("--quiet", "--prune", "--no-auto-gc", "--no-recurse-submodules")
        _check(module, self._git.fetch(copy, address, *options, *_SPECS))
        head = self._git.list_remote(copy, address, "HEAD")
        _check(module, head)
        for line in head.out.decode(errors="replace").splitlines():
            branch = line.split("\t")[0].removeprefix("ref: ")
            if line.startswith("ref: refs/heads/") and is_ref(branch):
                _check(module, self._git.run(copy, "symbolic-ref", "HEAD", branch))
        self._fetched.add(module.url)


def _check(module: ModuleSource, done: programs.ProgramResult) -> None:
    if done.code != 0:
        raise issues.NOT_FETCHED.error(name=module.name, url=redact(module.url), reason=explain(done))
