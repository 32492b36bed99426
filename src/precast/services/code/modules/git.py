"""Asks git for commits and their files. A bare copy of each repository is kept, so that a commit that is known needs no network.

Addresses and names come from a Puppetfile, which somebody else may have written: only transports that fetch are allowed, nothing that
begins with a dash reaches git as an option, no hook or command of a repository runs, and git never asks at a terminal.
"""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from precast.base.redaction import redact
from precast.lang.ruby.code.puppetfile import ModuleSource
from precast.services.code.modules import issues as issues

_SECONDS: Final = 600
_TRANSPORTS: Final = "file:git:http:https:ssh"
_SAFE: Final = (
    *("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false"),
    *("-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
)
_PLACES: Final = {
    "tag": ("refs/tags/{}",),
    "branch": ("refs/heads/{}",),
    "commit": ("{}",),
    "ref": ("refs/tags/{}", "refs/heads/{}", "{}"),
}


class Repositories:
    """Bare copies of repositories below one directory."""

    def __init__(self, directory: Path, base: Path) -> None:
        self._directory = directory
        self._base = base  # what a path in a Puppetfile is relative to
        self._fetched: set[str] = set()

    def commit(self, module: ModuleSource) -> str:
        """The commit that a module's reference names now. Raises MODULE-021 to MODULE-023."""
        copy = self._copy(module)
        is_commit = module.reference_kind in ("commit", "ref") and _is_hash(module.reference)
        if not is_commit or self._resolve(copy, module.reference) is None:
            self._fetch(module, copy)
        names = [each.format(module.reference) for each in _PLACES.get(module.reference_kind, ())]
        names += [f"refs/heads/{module.default_branch}"] if module.default_branch else []
        names += ["HEAD"] if not module.reference else []
        for name in names:
            found = self._resolve(copy, name)
            if found is not None:
                return found
        raise issues.NO_REFERENCE.error(
            name=module.name,
            url=redact(module.url),
            kind=module.reference_kind or "branch",
            reference=module.reference or "of its own",
        )

    def export(self, module: ModuleSource, commit: str, target: Path) -> None:
        """Writes a commit's files into an empty directory. Raises MODULE-021 to MODULE-023."""
        copy = self._copy(module)
        if self._resolve(copy, commit) is None:
            self._fetch(module, copy)
        if self._resolve(copy, commit) is None:
            raise issues.NO_REFERENCE.error(name=module.name, url=redact(module.url), kind="commit", reference=commit)
        with tempfile.TemporaryDirectory(prefix="precast-") as place:
            index = {"GIT_INDEX_FILE": f"{place}/index", "GIT_WORK_TREE": str(target)}
            self._need(module, self._run(copy, "read-tree", commit, extra=index))
            self._need(module, self._run(copy, "checkout-index", "--all", extra=index))

    def _copy(self, module: ModuleSource) -> Path:
        """The bare copy of a module's repository, made where there is none."""
        copy = self._directory / f"{hashlib.sha256(module.url.encode()).hexdigest()[:32]}.git"
        if not (copy / "HEAD").is_file():
            copy.mkdir(parents=True, exist_ok=True)
            self._need(module, self._run(copy, "init", "--quiet", "--bare"))
        return copy

    def _fetch(self, module: ModuleSource, copy: Path) -> None:
        """The repository as it is now, once in the life of this object; its HEAD too, which names the default branch."""
        if module.url in self._fetched:
            return
        url = module.url
        if "://" not in url and "@" not in url.partition(":")[0]:
            url = str((self._base / url).resolve())
        specs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        done = self._run(
            copy, "fetch", "--quiet", "--prune", "--no-auto-gc", "--no-recurse-submodules", "--", url, *specs
        )
        self._need(module, done)
        head = self._run(copy, "ls-remote", "--symref", "--", url, "HEAD")
        self._need(module, head)
        for line in head.stdout.splitlines():
            if line.startswith("ref: refs/heads/"):
                branch = line.split("\t")[0].removeprefix("ref: ")
                self._need(module, self._run(copy, "symbolic-ref", "HEAD", branch))
        self._fetched.add(module.url)

    def _resolve(self, copy: Path, name: str) -> str | None:
        done = self._run(copy, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
        return done.stdout.strip() if done.returncode == 0 else None

    def _run(
        self, copy: Path, *arguments: str, extra: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_ALLOW_PROTOCOL": _TRANSPORTS,
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "GIT_LFS_SKIP_SMUDGE": "1",
            **(extra or {}),
        }
        try:
            return subprocess.run(
                ["git", *_SAFE, f"--git-dir={copy}", *arguments],
                env=environment,
                cwd=environment.get("GIT_WORK_TREE", "/"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except OSError as error:
            raise issues.NO_GIT.error(reason=error.strerror) from None
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, 1, "", f"it took longer than {_SECONDS} s")

    def _need(self, module: ModuleSource, done: subprocess.CompletedProcess[str]) -> None:
        if done.returncode != 0:
            lines = [line.removeprefix("fatal: ") for line in done.stderr.splitlines() if line.strip()]
            reason = lines[0] if lines else f"git ended with {done.returncode}"
            raise issues.NOT_FETCHED.error(name=module.name, url=redact(module.url), reason=redact(reason))


def _is_hash(text: str) -> bool:
    return len(text) == 40 and all(char in "0123456789abcdef" for char in text)
