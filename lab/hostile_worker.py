"""A compile worker that has been taken over: it tries everything that a confined process must not be able to do.

`python -m lab.hostile_worker serve DIRECTORY` is a server that has secrets (in its environment, in an open file, in files that only its
user reads), listens on sockets, and starts the hostile worker exactly as a server starts a compile worker. It prints what the worker
achieved, as JSON: each attempt with "refused", "nothing there", or with what it got.
"""

import asyncio
import ctypes
import errno
import json
import mmap
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from precast.base.clock import SystemClock
from precast.base.confinement.confine import Level
from precast.base.errors import PrecastError
from precast.lang.node_answers import NodeData
from precast.services.compile import worker, workers
from precast.services.compile.messages import Begin, WorkerFault

PASSWORD = "the-password-of-the-database"
_LIBC = ctypes.CDLL(None, use_errno=True)
# By the names of their system calls, on x86_64 and aarch64.
_NUMBERS = {"ptrace": (101, 117), "process_vm_readv": (310, 270), "keyctl": (250, 219), "io_uring_setup": (425, 425),
            "bpf": (321, 280), "pidfd_open": (434, 434), "memfd_create": (319, 279), "mount": (165, 40)}  # fmt: skip
_PTRACE_ATTACH = 16


def main() -> None:
    if sys.argv[1] == "serve":
        print(json.dumps(asyncio.run(serve(Path(sys.argv[2]), Level(sys.argv[3])))))
        return
    worker.Worker.run = attack  # type: ignore[method-assign] # the confinement around it is the real one
    worker.main()


async def serve(directory: Path, level: Level) -> dict[str, str]:
    """Be the server. Returns what the worker achieved."""
    secret = directory / "authority.key"
    secret.touch(0o600)
    secret.write_text(PASSWORD)
    os.environ["PRECAST_DATABASE"] = f"postgresql://precast:{PASSWORD}@db.example.org/precast"
    inherited = os.open(secret, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(directory / "socket"))
        unix.listen()
        targets = {"port": tcp.getsockname()[1], "secret": str(secret), "directory": str(directory), "pid": os.getpid()}
        workers.MODULE = "lab.hostile_worker"

        async def load(_: str) -> bytes:
            raise AssertionError("the worker reads no file of the environment")

        own = workers.Workers(workers.Sources(load), SystemClock(), workers.Limits(level=level))
        try:
            await own.compile(workers.Version("production", "1", {}, targets), NodeData.local("a", {}))
        except PrecastError as error:
            return _achieved(error)
        finally:
            await own.close()
    raise AssertionError("the hostile worker always fails")


def _achieved(error: PrecastError) -> dict[str, str]:
    text = error.message
    if "{" not in text:
        return {"start": text}
    found: dict[str, str] = json.loads(text[text.index("{") :])
    return found


def attack(self: worker.Worker) -> None:
    begin = self._receive()
    assert isinstance(begin, Begin)
    self._receive()
    found = {name: _attempt(make) for name, make in _attempts(begin.constants).items()}
    found["status"] = f"user {os.getuid()}, {threading.active_count()} thread"
    self._send(WorkerFault(json.dumps(found)))


def _attempt(make: Callable[[], object]) -> str:
    try:
        got = make()
    except OSError as error:
        # Only these two are a refusal by the kernel; any other error means that the attempt itself was wrong.
        is_refused = error.errno in (errno.EPERM, errno.EACCES)
        return "refused" if is_refused else f"failed: {errno.errorcode.get(error.errno or 0, '?')}"
    except NothingFoundError:
        return "nothing there"
    except ValueError as error:  # as Python reports a refused limit
        return "refused" if "not allowed" in str(error) else f"failed: {error}"
    return f"got: {got!r}"[:200]


class NothingFoundError(Exception):
    """The place that was searched does not have the password."""


def _attempts(targets: dict[str, Any]) -> dict[str, Callable[[], object]]:
    secret, server = Path(targets["secret"]), int(targets["pid"])
    directory = Path(targets["directory"])
    address = ("127.0.0.1", int(targets["port"]))
    return {
        "connect to a TCP port of this machine": lambda: socket.create_connection(address, 2).getpeername(),
        "listen on a TCP port": lambda: socket.create_server(("127.0.0.1", 0)).getsockname(),
        "send a datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", address),
        "connect to a Unix socket of the server's user": lambda: socket.socket(socket.AF_UNIX).connect(
            str(directory / "socket")
        ),
        "read the key of the authority": secret.read_text,
        "read a file that only root reads": Path("/etc/shadow").read_bytes,
        "read any file": Path("/etc/passwd").read_bytes,
        "list a directory": lambda: list(Path("/").iterdir()),
        "find the password in the environment": lambda: _find(dict(os.environ)),
        "find the password in /proc/self/environ": lambda: _find(Path("/proc/self/environ").read_bytes()),
        "read the server's environment": lambda: _find(Path(f"/proc/{server}/environ").read_bytes()),
        "read an inherited descriptor": _read_descriptors,
        "write a file": lambda: Path("/tmp/precast-hostile").write_text("x"),
        "write a file of the server": lambda: secret.write_text("mine"),
        "remove a file of the server": secret.unlink,
        "change the mode of a file of the server": lambda: secret.chmod(0o666),
        "truncate a file of the server": lambda: os.truncate(secret, 0),
        "set the times of a file of the server": lambda: os.utime(secret),
        "start a process": _fork,
        "signal the server": lambda: os.kill(server, 0),
        "signal its group": lambda: os.kill(0, 0),
        "signal everything": lambda: os.kill(-1, 0),
        "limit the server": lambda: resource.prlimit(server, resource.RLIMIT_NOFILE, (1, 1)),
        "raise its own limit of memory": lambda: resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40)),
        "attach to the server": lambda: _call("ptrace", _PTRACE_ATTACH, server, 0, 0),
        "read the server's memory": lambda: _call("process_vm_readv", server, 0, 0, 0, 0, 0),
        "open the server's process": lambda: _call("pidfd_open", server, 0),
        "use the kernel's keys": lambda: _call("keyctl", 0, -4, 1),
        "use io_uring": lambda: _call("io_uring_setup", 1, 0),
        "use bpf": lambda: _call("bpf", 0, 0, 0),
        "make memory executable": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
        "make an anonymous file": lambda: _call("memfd_create", ctypes.c_char_p(b"x"), 0),
        "mount": lambda: _call("mount", 0, ctypes.c_char_p(b"/"), 0, 0, 0),
        "make a user namespace": lambda: _checked(_LIBC.unshare(0x10000000)),
        # The last one: if it succeeds, this process is gone, and its server says so.
        "run a program": lambda: os.execv("/bin/true", ["true"]),
    }


def _fork() -> int:
    if (pid := os.fork()) == 0:
        os._exit(0)
    return pid


def _find(place: object) -> str:
    if PASSWORD not in str(place):
        raise NothingFoundError
    return "the password"


def _read_descriptors() -> str:
    found = []
    for number in range(3, 1000):
        try:
            found.append(os.pread(number, 100, 0).decode())
        except OSError:
            continue
    return _find(found)


def _call(name: str, *arguments: Any) -> int:
    number = _NUMBERS[name][0 if os.uname().machine == "x86_64" else 1]
    return _checked(_LIBC.syscall(number, *arguments))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


if __name__ == "__main__":
    main()
