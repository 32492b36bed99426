"""Confines the process of a plug-in whose environment has not the node's trust: `plugin_child` calls it before it runs the plug-in.

The process becomes the user nobody, in namespaces of its own: no network interface is up, no process of the machine can be seen or
signalled, and /tmp, /var/tmp and /dev/shm are small and empty, and vanish with it. Where the kernel has Landlock, it writes nowhere else.
The filter of system calls that the collector gives refuses sockets (a Unix socket leads to the services of this machine), keys of the
kernel (it inherits the keyring of root's session), other namespaces and the like. It has limits of memory, processor time, processes,
open files and file size for each process, and is the first that the kernel ends when memory runs out; the collector limits its time and
its output.

Every step is required except Landlock: a process that cannot be confined raises, and its plug-in is not run. Like `plugin_child`, this
file imports no module of Precast, because plug-ins run in its process.
"""

import contextlib
import ctypes
import os
import resource
import struct
import sys
from pathlib import Path

NOBODY = 65534
SCRATCH_BYTES = 16 << 20
LIMITS = {
    resource.RLIMIT_AS: 512 << 20,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: 20,
    resource.RLIMIT_FSIZE: SCRATCH_BYTES,
    resource.RLIMIT_MEMLOCK: 64 << 10,
    resource.RLIMIT_NOFILE: 64,
}
# Counted over all processes of the user nobody.
MAX_PROCESSES = 128
_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - each is mounted afresh for this process alone

_NEW_MOUNTS, _NEW_IPC, _NEW_PIDS, _NEW_NETWORK = 0x00020000, 0x08000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 8, 32, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_FILTER = 2
_SIGKILL = 9
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
# Writing, removing, making entries and moving them; not executing, reading and listing.
_CHANGES = _WRITE_FILE | sum(1 << right for right in range(4, 14))

_LIBC = ctypes.CDLL(None, use_errno=True)


def confine(calls: bytes = b"") -> None:
    """Confine this process, and return only in a child of it. The calling process waits for the child and ends as it does.

    `calls` is a filter of system calls; empty on an architecture that has none. Raises OSError if the system does not allow a step;
    then nothing of the plug-in was run.
    """
    with contextlib.suppress(OSError):  # /proc may be read-only; set by root, it cannot be lowered later
        Path("/proc/self/oom_score_adj").write_text("1000")
    _check(_LIBC.unshare(_NEW_MOUNTS | _NEW_IPC | _NEW_PIDS | _NEW_NETWORK), "new namespaces")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    for path in _SCRATCH:
        if Path(path).is_dir():
            options = f"size={SCRATCH_BYTES},nr_inodes=1k,mode=700,uid={NOBODY},gid={NOBODY}"
            _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, options)
    # The first process of the new process namespace; when it ends, the kernel kills every other one in it.
    child = os.fork()
    if child:
        _wait_for(child)
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None)
    _keep_libraries()
    _become_nobody()
    os.chdir(_SCRATCH[0])
    if calls:
        _filter_calls(calls)


def _keep_libraries() -> None:
    """Let imports work where the interpreter is in a directory that only root may enter, such as /root.

    The libraries are mounted where the plug-in can reach them: from a descriptor of their directory it could climb to its neighbours.
    """
    for number, path in enumerate(sys.path):
        directory = Path(path)
        if directory.is_dir() and not all(place.stat().st_mode & 0o001 for place in (directory, *directory.parents)):
            sys.path[number] = kept = f"{_SCRATCH[0]}/.python{number}"
            Path(kept).mkdir()
            _mount(path, kept, None, _MS_BIND, None)
            _mount(None, kept, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | _MS_NODEV, None)
            for module in list(sys.modules.values()):
                if isinstance(places := getattr(module, "__path__", None), list):
                    places[:] = [
                        kept + place[len(path) :] if place.startswith(path + "/") else place for place in places
                    ]


def _wait_for(child: int) -> None:
    """End as the child does. The privileges that are not needed for that are given up."""
    _become_nobody()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def _become_nobody() -> None:
    for kind, limit in LIMITS.items():
        _limit(kind, limit)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _limit(resource.RLIMIT_NPROC, MAX_PROCESSES)
    # A change of the user resets the signal.
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    _forbid_changes()


def _filter_calls(calls: bytes) -> None:
    instructions = ctypes.create_string_buffer(calls, len(calls))
    # struct sock_fprog: the number of instructions, then a pointer, aligned.
    fields = struct.pack("HxxxxxxQ", len(calls) // 8, ctypes.addressof(instructions))
    program = ctypes.create_string_buffer(fields, len(fields))
    _check(_LIBC.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), program), "a filter of system calls")


def _limit(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    wanted = limit if hard == resource.RLIM_INFINITY else min(hard, limit)
    resource.setrlimit(kind, (wanted, wanted))


def _forbid_changes() -> None:
    """Let Landlock refuse every change of a file outside the scratch directories; a kernel without Landlock is left alone."""
    version = _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return
    rights = _CHANGES | (_TRUNCATE if version >= 3 else 0)
    if version < 2:
        rights &= ~(1 << 13)
    governed = ctypes.c_uint64(rights)
    ruleset = _check(_LIBC.syscall(_CREATE_RULESET, ctypes.byref(governed), ctypes.c_size_t(8), 0), "Landlock")
    for path in (*_SCRATCH, "/dev/null"):
        if Path(path).exists():
            allowed = rights if Path(path).is_dir() else rights & (_WRITE_FILE | _TRUNCATE)
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = _PathBeneath(allowed, handle)
            _check(_LIBC.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0), "Landlock")
            os.close(handle)
    _check(_LIBC.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("directory", ctypes.c_int32))


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    _check(_LIBC.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"a mount of {target}")


def _prctl(option: int, value: int) -> None:
    _check(_LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)), "prctl")


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


if sys.platform != "linux":  # pragma: no cover
    raise OSError("only Linux can confine a plug-in")
