"""Fetches commits and their files with git. A bare copy of each repository is cached, so that a known commit needs no network.

Addresses and names come from an untrusted Puppetfile: only transports that can do nothing but fetch are allowed, no value that begins
with a dash reaches git as an option, no hook or command of a repository runs, and git never prompts at a terminal.
"""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

from precast.base import programs
from precast.base.redaction import redact
from precast.lang.ruby.declarations.puppetfile import ModuleSource
from precast.services.code.modules import issues

_SECONDS: Final = 600
_MAX_OUT_BYTES: Final = 64 << 20
_MAX_ERROR_BYTES: Final = 1 << 20
_TRANSPORTS: Final = "file:git:http:https:ssh"
_SAFE: Final = (
    *("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=false"),
    *("-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
)
_REFERENCE_FORMS: Final = {
    "tag": ("refs/tags/{}",),
    "branch": ("refs/heads/{}",),
    "commit": ("{}",),
    "ref": ("refs/tags/{}", "refs/heads/{}", "{}"),
}


class GitRepositories:
    """Bare copies of repositories below one cache directory."""

    def __init__(self, directory: Path, base: Path) -> None:
        self._directory = directory
        self._base = base  # paths in a Puppetfile are relative to it
        self._fetched: set[str] = set()

    def commit(self, module: ModuleSource) -> str:
        """Resolve the reference of a module to a commit. Raises MODULE-021 to MODULE-023."""
        copy = self._copy(module)
        is_commit = module.reference_kind in ("commit", "ref") and _is_hash(module.reference)
        if not is_commit or self._resolve(copy, module.reference) is None:
            self._fetch(module, copy)
        names = [form.format(module.reference) for form in _REFERENCE_FORMS.get(module.reference_kind, ())]
        names += [f"refs/heads/{module.default_branch}"] if module.default_branch else []
        names += ["HEAD"] if not module.reference else []
        for name in names:
            commit = self._resolve(copy, name)
            if commit is not None:
                return commit
        raise issues.NO_REFERENCE.error(
            name=module.name,
            url=redact(module.url),
            kind=module.reference_kind or "branch",
            reference=module.reference or "that is its default",
        )

    def export(self, module: ModuleSource, commit: str, target: Path) -> None:
        """Write the files of a commit into an empty directory. Raises MODULE-021 to MODULE-023."""
        copy = self._copy(module)
        if self._resolve(copy, commit) is None:
            self._fetch(module, copy)
        if self._resolve(copy, commit) is None:
            raise issues.NO_REFERENCE.error(name=module.name, url=redact(module.url), kind="commit", reference=commit)
        with tempfile.TemporaryDirectory(prefix="precast-") as place:
            index = {"GIT_INDEX_FILE": f"{place}/index", "GIT_WORK_TREE": str(target)}
            self._check(module, self._run(copy, "read-tree", commit, extra=index))
            self._check(module, self._run(copy, "checkout-index", "--all", extra=index))

    def _copy(self, module: ModuleSource) -> Path:
        """Return the bare copy of a module's repository; create it if it does not exist."""
        copy = self._directory / f"{hashlib.sha256(module.url.encode()).hexdigest()[:32]}.git"
        if not (copy / "HEAD").is_file():
            copy.mkdir(parents=True, exist_ok=True)
            self._check(module, self._run(copy, "init", "--quiet", "--bare"))
        return copy

    def _fetch(self, module: ModuleSource, copy: Path) -> None:
        """Fetch the repository, once for each object of this class, and its HEAD, which names the default branch."""
        if module.url in self._fetched:
            return
        url = module.url
        if "://" not in url and "@" not in url.partition(":")[0]:
            url = str((self._base / url).resolve())
        specs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        done = self._run(
            copy, "fetch", "--quiet", "--prune", "--no-auto-gc", "--no-recurse-submodules", "--", url, *specs
        )
        self._check(module, done)
        head = self._run(copy, "ls-remote", "--symref", "--", url, "HEAD")
        self._check(module, head)
        for line in _text(head.out).splitlines():
            if line.startswith("ref: refs/heads/"):
                branch = line.split("\t")[0].removeprefix("ref: ")
                self._check(module, self._run(copy, "symbolic-ref", "HEAD", branch))
        self._fetched.add(module.url)

    def _resolve(self, copy: Path, name: str) -> str | None:
        done = self._run(copy, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
        return _text(done.out).strip() if done.code == 0 else None

    def _run(self, copy: Path, *arguments: str, extra: dict[str, str] | None = None) -> programs.ProgramResult:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_ALLOW_PROTOCOL": _TRANSPORTS,
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "GIT_LFS_SKIP_SMUDGE": "1",
            **(extra or {}),
        }
        options = programs.StartOptions(
            environment=environment,
            directory=environment.get("GIT_WORK_TREE", "/"),
            max_error_bytes=_MAX_ERROR_BYTES,
        )
        argv = ["git", *_SAFE, f"--git-dir={copy}", *arguments]
        try:
            return programs.run(argv, _SECONDS, _MAX_OUT_BYTES, options)
        except TimeoutError:
            return programs.ProgramResult(1, b"", f"it took longer than {_SECONDS} s".encode())
        except OSError as error:
            raise issues.NO_GIT.error(reason=error.strerror) from None

    def _check(self, module: ModuleSource, done: programs.ProgramResult) -> None:
        if done.code != 0:
            lines = [line.removeprefix("fatal: ") for line in _text(done.error).splitlines() if line.strip()]
            reason = lines[0] if lines else f"git ended with {done.code}"
            raise issues.NOT_FETCHED.error(name=module.name, url=redact(module.url), reason=redact(reason))


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _is_hash(text: str) -> bool:
    return len(text) == 40 and all(char in "0123456789abcdef" for char in text)
