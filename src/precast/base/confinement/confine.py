"""Confines this process for good, before it reads untrusted input.

    confine(Confinement(memory_bytes=2**30))                  # computes, and uses the descriptors it has
    confine(Confinement(reads=[*PROGRAM_FILES, code], programs=True)); os.execve(…)  # runs a program of others, without network
    confine(Confinement(reads=[certificates], writes=[spool], network=True, threads=True))

None of it needs a privilege: Landlock governs files, a filter governs system calls (and with them the network and other processes),
limits govern memory and time. What a privilege or a user namespace adds is used where it can be had: another user, and a network
namespace without interfaces. A measure that is required and cannot be had is an error, unless the level is `best`: then it is missing
from the returned list, which the caller shows.
"""

import contextlib
import enum
import os
import resource
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from precast.base.confinement import bpf, filters, issues, kernel, landlock

NOBODY = 65534
FIRST_DESCRIPTOR = 3
# What most programs need to start: themselves, their libraries, and where these are.
PROGRAM_FILES = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"))
)
READ_DEVICES = tuple(map(Path, ("/dev/zero", "/dev/random", "/dev/urandom")))
WRITTEN_DEVICES = (Path("/dev/null"),)


class Level(enum.StrEnum):
    """How much confinement is required."""

    STRICT = "strict"  # everything that the kernel offers to a process without privileges
    BEST = "best"  # what there is


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """What a process may still do. The defaults allow it to compute, and to use the descriptors that it keeps."""

    reads: Sequence[Path] = ()  # files, and directories with all below them
    writes: Sequence[Path] = ()  # these may be read, too
    network: bool = False  # connections to other machines; it can never listen
    accepts: bool = False  # connections on sockets that it keeps, whose peers it can tell apart by user
    programs: bool = False  # starting programs, which are confined alike
    threads: bool = False  # implied by `programs`
    keeps: Sequence[int] = ()  # descriptors besides standard input, output and errors
    user: int = NOBODY  # whom a process of root becomes; also the number of its group
    memory_bytes: int | None = None
    cpu_s: int | None = None
    file_bytes: int = 0  # the largest file that it may write
    descriptors: int = 64
    processes: int | None = None  # of the same user, all together
    dies_with_parent: bool = True
    level: Level = Level.STRICT


class Measure(msgspec.Struct, frozen=True):
    """One part of the confinement: what it restricts, whether it is in force, and how."""

    name: str
    is_enforced: bool
    how: str


def confine(wanted: Confinement) -> tuple[Measure, ...]:
    """Confine this process, which has one thread, and its future children. Returns the measures in force and those that are missing.

    Raises UnavailableError CONFINE-001 if a required measure is missing; the process must end then.
    """
    if threading.active_count() > 1:
        raise RuntimeError("a process is confined before it starts threads")
    parent = os.getppid()
    _detach(wanted)
    measures = [
        _isolate(wanted),
        _guard("files", lambda: _restrict_files(wanted), wanted),
        _limit(wanted),
        _change_user(wanted, parent),
        _guard("system calls", lambda: _filter_calls(wanted, parent), wanted),
    ]
    return (*measures, _describe_network(wanted, measures))


def _detach(wanted: Confinement) -> None:
    """Leave the session, the directory and the descriptors of the process that started this one."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):  # it already leads a session
        os.setsid()
    os.chdir("/")
    kept = sorted({*range(FIRST_DESCRIPTOR), *wanted.keeps})
    for before, after in zip(kept, [*kept[1:], _highest_descriptor() + 1], strict=True):
        os.closerange(before + 1, after)


def _highest_descriptor() -> int:
    """The highest number that a descriptor can have; /proc may be absent."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        return max(soft, *(int(name) for name in os.listdir("/proc/self/fd")))  # noqa: PTH208 - names only
    except OSError:
        return soft


def _guard(name: str, enforce: Callable[[], str], wanted: Confinement) -> Measure:
    """Enforce a measure that the level `strict` requires."""
    try:
        return Measure(name, True, enforce())
    except OSError as error:
        if wanted.level is Level.STRICT:
            raise issues.NOT_CONFINED.error(missing=f"{name}: {error.strerror}") from None
        return Measure(name, False, f"{error.strerror}")


def _restrict_files(wanted: Confinement) -> str:
    devices = (READ_DEVICES, WRITTEN_DEVICES) if wanted.programs else ((), ())
    try:
        version = landlock.restrict(
            [*wanted.reads, *devices[0]],
            [*wanted.writes, *devices[1]],
            may_connect=wanted.network,
            may_execute=wanted.programs,
        )
    except OSError as error:
        raise OSError(error.errno, f"Landlock is not available ({error.strerror})") from None
    return f"Landlock, ABI {version}: {_describe_paths(wanted)}"


def _describe_paths(wanted: Confinement) -> str:
    if not wanted.reads and not wanted.writes:
        return "opens no file"
    return f"reads {len(wanted.reads)} paths, writes {len(wanted.writes)}"


def _limit(wanted: Confinement) -> Measure:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: wanted.descriptors,
        resource.RLIMIT_FSIZE: wanted.file_bytes,
        resource.RLIMIT_AS: wanted.memory_bytes,
        resource.RLIMIT_CPU: wanted.cpu_s,
        resource.RLIMIT_NPROC: wanted.processes,
    }
    for number, value in limits.items():
        if value is not None:
            _, hard = resource.getrlimit(number)
            # A lower limit, such as that of a container, stays.
            most = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (most, most))
    shown = [
        *([] if wanted.memory_bytes is None else [f"{wanted.memory_bytes // 1024**2} MB of memory"]),
        *([] if wanted.cpu_s is None else [f"{wanted.cpu_s} s of processor time"]),
        f"files of {wanted.file_bytes // 1024**2} MB" if wanted.file_bytes else "writes no bytes to files",
        "no core dumps",
    ]
    return Measure("limits", True, ", ".join(shown))


def _isolate(wanted: Confinement) -> Measure:
    """A namespace of its own without network, where the kernel allows it. The filter of system calls refuses sockets in any case."""
    if wanted.network:
        return Measure("namespaces", False, "not wanted: it connects to other machines")
    user, group = os.geteuid(), os.getegid()
    if user and wanted.accepts:
        return Measure("namespaces", False, "not wanted: a user namespace would hide the users of its peers")
    try:
        kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | (kernel.CLONE_NEWUSER if user else 0))
    except OSError as error:
        return Measure("namespaces", False, f"the kernel refuses them: {error.strerror}")
    if user:
        _map_itself(user, group)
    return Measure("namespaces", True, "a network without interfaces")


def _map_itself(user: int, group: int) -> None:
    """Keep the numbers of user and group in a new user namespace, so that programs find the owner of their files."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with contextlib.suppress(OSError):  # then the numbers are those of nobody, which changes no right
            Path("/proc/self", name).write_text(text)


def _change_user(wanted: Confinement, parent: int) -> Measure:
    is_root = os.geteuid() == 0
    if is_root:
        os.setgroups([])
        os.setresgid(wanted.user, wanted.user, wanted.user)
        os.setresuid(wanted.user, wanted.user, wanted.user)
    # Under a filter that refuses this call the process has no capabilities to drop.
    with contextlib.suppress(OSError, KeyError):
        kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    if wanted.dies_with_parent:
        # After the change of the user, which resets it. The parent may have ended before the call.
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    is_changed = is_root and wanted.user != 0
    how = f"became user {wanted.user}" if is_changed else f"stays user {os.getuid()}"
    return Measure("user", is_changed, f"{how}; no capabilities, no new privileges")


def _filter_calls(wanted: Confinement, parent: int) -> str:
    architecture = filters.current_architecture()
    if architecture is None:
        raise OSError(0, f"there is no filter for {os.uname().machine}")
    if wanted.programs:
        program = filters.make_program_filter(
            architecture, may_connect=wanted.network, may_write=bool(wanted.writes), parent=parent
        )
    else:
        program = filters.make_compute_filter(
            architecture,
            may_read=bool(wanted.reads),
            may_write=bool(wanted.writes),
            may_connect=wanted.network,
            may_thread=wanted.threads,
            may_accept=wanted.accepts,
        )
    try:
        bpf.install(program)
    except OSError as error:
        raise OSError(error.errno, f"seccomp is not available ({error.strerror})") from None
    return "seccomp: dangerous calls are refused" if wanted.programs else "seccomp: all but a list are refused"


def _describe_network(wanted: Confinement, measures: Sequence[Measure]) -> Measure:
    if wanted.network:
        return Measure("network", True, "connects to other machines, cannot listen, no Unix sockets")
    enforced = {measure.name for measure in measures if measure.is_enforced}
    means = {"system calls": "no sockets", "namespaces": "a namespace without interfaces"}
    how = [text for name, text in means.items() if name in enforced]
    return Measure("network", bool(how), " and ".join(how) or "nothing prevents connections")
