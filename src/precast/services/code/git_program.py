"""Runs git on repositories of others: the only place that starts it.

git reaches only what the policy of addresses allows. No hook, filter, attribute, submodule or command of a repository has an effect, so the
files of a commit are written byte by byte as they are stored. git never prompts. Everything that a repository or a Puppetfile names comes
after `--` or `--end-of-options`, and has been checked before.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from precast.base import programs
from precast.base.redaction import redact
from precast.base.repository_addresses import RepositoryAddress, redact_address
from precast.services.code import issues
from precast.services.code.address_policy import AddressPolicy, resolve_host
from precast.services.code.modules.issues import NO_GIT

SECONDS: Final = 300
MAX_OUT_BYTES: Final = 4 << 20
MAX_ERROR_BYTES: Final = 64 << 10
MAX_REASON_CHARS: Final = 300
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+#@-]{0,199}")
# The environment variables that git needs to reach a repository as its user does.
_PASSED_VARIABLES: Final = (
    "HOME",
    "SSH_AUTH_SOCK",
    "XDG_CONFIG_HOME",
    "GIT_SSH_COMMAND",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_SETTINGS: Final = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.bigFileThreshold": "16m",
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "256m",
    "pack.threads": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "protocol.ext.allow": "never",
    "credential.interactive": "false",
    "advice.detachedHead": "false",
}
# They outrank the attributes that a commit contains.
_ATTRIBUTES: Final = "* -text !eol -filter -ident !working-tree-encoding -export-subst -export-ignore\n"


def is_commit(text: str) -> bool:
    """Whether a text is the full name of a commit."""
    return _COMMIT.fullmatch(text) is not None


def is_ref(text: str) -> bool:
    """Whether a text may name a branch, tag or commit, and nothing else that git understands."""
    return bool(_REF.fullmatch(text)) and not any(
        (".." in text, "@{" in text, "//" in text, text.endswith((".lock", "/", ".")), "/." in text)
    )


class Git:
    """Runs git under a policy. With `joins_group` its processes end with the group of this one."""

    def __init__(self, policy: AddressPolicy, *, joins_group: bool = False) -> None:
        self.policy = policy
        self._joins_group = joins_group

    def create(self, bare: Path) -> None:
        """Create an empty bare repository, unless it exists. Raises UnavailableError ENV-022, MODULE-021."""
        if not (bare / "HEAD").is_file():
            bare.mkdir(parents=True, exist_ok=True)
            self.check(str(bare), self.run(bare, "init", "--quiet", "--bare", "--template="))
        (bare / "info").mkdir(exist_ok=True)
        (bare / "info" / "attributes").write_text(_ATTRIBUTES)

    def fetch(self, bare: Path, address: RepositoryAddress, *words: str) -> programs.ProgramResult:
        """Run `git fetch` with options, then the address, then refspecs. Raises InputError ENV-020, UnavailableError ENV-022."""
        options = [word for word in words if word.startswith("--")]
        return self._reach(bare, address, ("fetch", *options), words[len(options) :])

    def list_remote(self, bare: Path, address: RepositoryAddress, *names: str) -> programs.ProgramResult:
        """Run `git ls-remote --symref`. Raises as `fetch` does."""
        return self._reach(bare, address, ("ls-remote", "--symref"), names)

    def resolve(self, bare: Path, name: str) -> str | None:
        """The full name of a commit, None if the repository does not have it."""
        done = self.run(bare, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
        commit = done.out.decode(errors="replace").strip()
        return commit if done.code == 0 and is_commit(commit) else None

    def write_files(self, bare: Path, commit: str, target: Path) -> None:
        """Write the files of a commit into an empty directory. Raises InputError ENV-031, UnavailableError ENV-022."""
        if not is_commit(commit):
            raise issues.BAD_CODE_COMMIT.error(commit=repr(commit[:80]))
        index = {"GIT_INDEX_FILE": f"{bare}/index.{os.getpid()}", "GIT_WORK_TREE": str(target)}
        try:
            self.check(str(bare), self.run(bare, "read-tree", "--end-of-options", commit, extra=index))
            self.check(str(bare), self.run(bare, "checkout-index", "--all", extra=index))
        finally:
            Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)

    def check(self, repository: str, done: programs.ProgramResult) -> None:
        """Raises UnavailableError ENV-022 if git has failed."""
        if done.code != 0:
            raise issues.GIT_FAILED.error(repository=redact_address(repository), reason=explain(done))

    def run(self, bare: Path, *words: str, extra: Mapping[str, str] | None = None) -> programs.ProgramResult:
        """Run git on a repository of ours. Raises UnavailableError MODULE-021 if there is no git."""
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        return self._start(["git", *settings, f"--git-dir={bare}", *words], extra or {})

    def _reach(
        self, bare: Path, address: RepositoryAddress, command: tuple[str, ...], names: tuple[str, ...]
    ) -> programs.ProgramResult:
        pins = resolve_host(address, self.policy)
        words = ["-c", "http.followRedirects=false"] if not self.policy.is_personal else []
        extra = {}
        if pins and address.scheme == "https":
            words += ["-c", f"http.curloptResolve={address.host}:{address.port}:{','.join(map(_bracketed, pins))}"]
        elif pins and address.scheme == "ssh" and "GIT_SSH_COMMAND" not in os.environ:
            extra["GIT_SSH_COMMAND"] = f"ssh -oBatchMode=yes -oHostName={pins[0]} -oHostKeyAlias={address.host}"
        where = address.path if address.is_local else address.text
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        argv = ["git", *settings, *words, f"--git-dir={bare}", *command, "--", where, *names]
        return self._start(argv, extra)

    def _start(self, argv: list[str], extra: Mapping[str, str]) -> programs.ProgramResult:
        schemes = {*self.policy.schemes, *(["file"] if self.policy.is_personal or self.policy.directories else [])}
        environment = {
            **{name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
            "PATH": os.environ.get("PATH", programs.SEARCH_PATH),
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": ":".join(sorted(schemes)),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "SSH_ASKPASS": "true",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            **extra,
        }
        options = programs.StartOptions(
            environment=environment,
            directory=environment.get("GIT_WORK_TREE", "/"),
            max_error_bytes=MAX_ERROR_BYTES,
            joins_group=self._joins_group,
        )
        try:
            return programs.run(argv, SECONDS, MAX_OUT_BYTES, options)
        except TimeoutError:
            return programs.ProgramResult(1, b"", f"it took longer than {SECONDS} s".encode())
        except OSError as error:
            raise NO_GIT.error(reason=error.strerror) from None


def explain(done: programs.ProgramResult) -> str:
    """Why git has failed, in one line without secrets."""
    lines = [line.removeprefix("fatal: ") for line in done.error.decode(errors="replace").splitlines() if line.strip()]
    return redact(lines[0])[:MAX_REASON_CHARS] if lines else f"git ended with {done.code}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
