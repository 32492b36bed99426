"""Fetches code from a repository in a child process: git, the Puppetfile and its modules, and the digests of all files.

All of it is written by others. The process reaches only its work directory, its cache, what git needs to connect as its user, and the
network; its limits are those of the request. It reads a request from standard input and writes the result to standard output.
`python -I -m precast.services.code.fetch_child LEVEL`.
"""

import os
import sys
from pathlib import Path

import msgspec

from precast.base.confinement.children import ASK, confine_or_exit, write_answer
from precast.base.confinement.confine import PROGRAM_FILES, Confinement, Level
from precast.base.errors import PrecastError
from precast.base.repository_addresses import redact_address
from precast.services.code import issues, puppetfile_modules
from precast.services.code.address_policy import AddressPolicy
from precast.services.code.file_trees import read_directory
from precast.services.code.git_program import Git
from precast.services.code.git_sources import check_out

MEMORY_BYTES = 2 * 1024**3
# One file: a pack of objects can be as large as all files together.
FILE_BYTES = 1024**3
CPU_S = 600
PROCESSES = 1024
# What resolving a name, verifying a certificate and connecting by ssh read.
_NETWORK_FILES = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"),
    *("/etc/passwd", "/etc/group", "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies", "/etc/ssh"),
    *("/etc/gitconfig", "/run/systemd/resolve", "/run/resolvconf"),
)
_HOME_FILES = (".ssh", ".gitconfig", ".config/git", ".git-credentials", ".netrc")


class FetchRequest(msgspec.Struct, frozen=True):
    """What is fetched, and where to."""

    repository: str
    ref: str
    work: str
    cache: str
    # The policy for the repository, which the server's administrator chose, and for the modules, which its authors chose.
    policy: AddressPolicy
    module_policy: AddressPolicy


class FetchedCode(msgspec.Struct, frozen=True):
    """The commit, the canonical manifest of the files, and for each digest the path of a file with that content."""

    commit: str
    manifest: bytes
    places: dict[str, str]


class FetchProblem(msgspec.Struct, frozen=True):
    """The declared error that ended a fetch."""

    kind: str
    code: str
    message: str
    hint: str


class FetchResult(msgspec.Struct, frozen=True):
    """The code, or the problem."""

    code: FetchedCode | None = None
    problem: FetchProblem | None = None


def fetch(request: FetchRequest) -> FetchedCode:
    """Fetch the files of a repository and of the modules that its Puppetfile names. Raises what these raise."""
    work = Path(request.work)
    checkout = check_out(Git(request.policy, joins_group=True), request.repository, request.ref, work)
    modules = Git(request.module_policy, joins_group=True)
    puppetfile_modules.install_modules(checkout.place, Path(request.cache), modules)
    tree, places = read_directory(checkout.place)
    relative = {digest: str(path.relative_to(checkout.place.resolve())) for digest, path in places.items()}
    return FetchedCode(checkout.commit, tree.encode(), relative)


def _result(request: FetchRequest) -> FetchResult:
    try:
        return FetchResult(fetch(request))
    except PrecastError as error:
        message = error.message if error.span is None else error.render().partition("\n")[0]
        return FetchResult(problem=FetchProblem(error.kind.value, error.code, message, error.hint))
    except (OSError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = issues.FETCH_FAILED.error(repository=redact_address(request.repository), reason=reason)
        return FetchResult(problem=FetchProblem(problem.kind.value, problem.code, problem.message, problem.hint))


def _confinement(request: FetchRequest, level: Level) -> Confinement:
    home = Path(os.environ.get("HOME", "/nonexistent"))
    named = [os.environ[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CONFIG_HOME") if name in os.environ]
    reads = [
        *PROGRAM_FILES,
        *map(Path, _NETWORK_FILES),
        *(home / name for name in _HOME_FILES),
        *map(Path, named),
        *map(Path, sys.path),
        Path(sys.prefix),
        Path(sys.base_prefix),
        *map(Path, request.policy.directories),
        *map(Path, request.module_policy.directories),
    ]
    return Confinement(
        level=level,
        reads=[path for path in reads if path.is_absolute()],
        writes=[Path(request.work), Path(request.cache)],
        network=True,
        programs=True,
        user=os.geteuid(),
        memory_bytes=MEMORY_BYTES,
        cpu_s=CPU_S,
        file_bytes=FILE_BYTES,
        descriptors=256,
        processes=PROCESSES,
    )


def main() -> int:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=FetchRequest)
    measures = confine_or_exit(_confinement(request, Level(sys.argv[1])))
    if sys.argv[2:] == [ASK]:
        write_answer(measures)
        return 0
    sys.stdout.buffer.write(msgspec.msgpack.encode(_result(request)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
