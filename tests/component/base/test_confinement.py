"""Confinement of a process by the kernel, in real processes: what each permission allows, and that nothing else is."""

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.base.confinement import bpf, filters, system_calls
from precast.base.confinement.confine import NOBODY, PROGRAM_FILES

HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
PRELUDE = f"""
import json, os, resource, socket, sys, threading
from pathlib import Path
from precast.base.confinement.confine import Confinement, Level, confine
PROGRAM_FILES = {[str(path) for path in PROGRAM_FILES]!r}
found = {{}}
def attempt(name, make):
    try:
        found[name] = str(make())
    except (OSError, RuntimeError, ValueError) as error:
        found[name] = "refused"
"""


@pytest.fixture
def room() -> Iterator[Path]:
    """A directory that every user may use, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="precast-confined-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def confined(script: str, *words: str | Path, prefix: tuple[str, ...] = ()) -> dict[str, str]:
    """Run a script that confines itself and then makes attempts; returns their outcomes."""
    text = f"{PRELUDE}\n{script}\nprint(json.dumps(found), flush=True)\n"
    command = [*prefix, sys.executable, "-c", text, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_reads_and_writes_are_limited_to_the_given_paths(room: Path) -> None:
    for name in ("readable", "writable", "closed"):
        (room / name).mkdir()
        (room / name).chmod(0o777)
        (room / name / "file").write_text(name)
        (room / name / "file").chmod(0o666)
        if os.geteuid() == 0:
            os.chown(room / name / "file", NOBODY, NOBODY)  # file modes alone allow everything
    found = confined(
        """
room = Path(sys.argv[1])
confine(Confinement(reads=[room / "readable"], writes=[room / "writable"], file_bytes=1000))
attempt("read readable", (room / "readable/file").read_text)
attempt("write readable", lambda: (room / "readable/file").write_text("x"))
attempt("read writable", (room / "writable/file").read_text)
attempt("write writable", lambda: (room / "writable/new").write_text("x"))
attempt("write too much", lambda: (room / "writable/large").write_bytes(bytes(2000)))
attempt("read closed", (room / "closed/file").read_text)
attempt("write closed", lambda: (room / "closed/file").write_text("x"))
attempt("through a link", lambda: ((room / "writable/link").symlink_to(room / "closed/file"), (room / "writable/link").read_text()))
attempt("change modes", lambda: (room / "closed/file").chmod(0o600))
attempt("change times", lambda: os.utime(room / "closed/file", (0, 0)))
""",
        room,
    )
    assert found == {
        "read readable": "readable",
        "write readable": "refused",
        "read writable": "writable",
        "write writable": "1",
        "write too much": "refused",
        "read closed": "refused",
        "write closed": "refused",
        "through a link": "refused",
        "change modes": "refused",
        "change times": "refused",
    }


def test_paths_that_cannot_be_reached_allow_nothing(room: Path) -> None:
    (room / "file").touch()
    (room / "closed").mkdir(0o000)
    found = confined(
        """
room = Path(sys.argv[1])
os.setresuid(*([65533] * 3)) if os.geteuid() == 0 else None
confine(Confinement(reads=[room / "absent", room / "file" / "below", room / "closed" / "below", room / "file"]))
attempt("read", (room / "file").read_bytes)
""",
        room,
    )
    (room / "closed").chmod(0o700)
    assert found == {"read": "b''"}


def test_programs_run_confined_and_cannot_touch_their_parent() -> None:
    shell = (
        "cat /etc/passwd && echo read; echo x > /tmp/precast-confined && echo written; kill -9 $PPID && echo killed; "
        "kill -9 -1 && echo killed; exec 3<>/dev/tcp/127.0.0.1/1 ; unshare -r true && echo namespace; echo end >/dev/null; echo $((1 + 1))"
    )
    script = (
        f"{PRELUDE}\nreads = [Path(name) for name in PROGRAM_FILES]\n"
        "confine(Confinement(reads=reads, programs=True))\n"
        f"os.execve('/bin/bash', ['bash', '-c', {shell!r}], {{'PATH': '/usr/bin:/bin'}})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "2\n", done.stderr
    assert "socket: Operation not permitted" in done.stderr


def test_network_means_other_machines_and_neither_listening_nor_unix_sockets(room: Path) -> None:
    found = confined(
        """
"x".encode("idna")  # no file can be read later
address = socket.create_server(("127.0.0.1", 0))
unix = socket.socket(socket.AF_UNIX); unix.bind(sys.argv[1] + "/socket"); unix.listen()
os.chmod(sys.argv[1] + "/socket", 0o777)
confine(Confinement(network=True, threads=True, keeps=[address.fileno()]))
attempt("connect", lambda: socket.create_connection(address.getsockname()[:2]).getpeername() == address.getsockname())
attempt("listen", lambda: socket.socket().listen())
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[1] + "/socket"))
attempt("thread", lambda: (thread := threading.Thread(target=lambda: None), thread.start(), thread.join())[2])
attempt("fork", os.fork)
attempt("accept", lambda: address.accept())
""",
        room,
    )
    assert found == {
        "connect": "True",
        "listen": "refused",
        "unix": "refused",
        "thread": "None",
        "fork": "refused",
        "accept": "refused",
    }


def test_limits_are_in_force_and_cannot_be_raised() -> None:
    found = confined(
        """
confine(Confinement(memory_bytes=300 * 1024**2, cpu_s=7, descriptors=20))
for name in ("AS", "CPU", "NOFILE", "FSIZE", "CORE"):
    attempt(name, lambda: resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1])
attempt("raise", lambda: resource.setrlimit(resource.RLIMIT_CPU, (9, 9)))
try:
    bytes(400 * 1024**2)
except MemoryError:
    found["memory"] = "refused"
"""
    )
    assert found == {
        "AS": str(300 * 1024**2),
        "CPU": "7",
        "NOFILE": "20",
        "FSIZE": "0",
        "CORE": "0",
        "raise": "refused",
        "memory": "refused",
    }


def test_descriptors_that_are_not_kept_are_closed() -> None:
    found = confined(
        """
kept, closed = os.pipe()
high = os.dup2(closed, 200)
confine(Confinement(keeps=[kept]))
for name, number in (("kept", kept), ("closed", closed), ("high", 200)):
    attempt(name, lambda: os.fstat(number).st_size)
"""
    )
    assert found == {"kept": "0", "closed": "refused", "high": "refused"}


def test_process_ends_with_the_one_that_started_it() -> None:
    """The child of a killed parent holds the pipe no longer: its end reads as the end of the file."""
    script = f"""{PRELUDE}
if (child := os.fork()) == 0:
    confine(Confinement())
    os.write(1, b"ready\\n")
    while True:
        threading.Event().wait(60)
os.waitpid(child, 0)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()
        assert parent.stdout.read() == b""


def test_process_with_threads_is_not_confined_by_half() -> None:
    found = confined(
        """
is_done = threading.Event()
thread = threading.Thread(target=is_done.wait)
thread.start()
attempt("confine", lambda: confine(Confinement()))
is_done.set()
thread.join()
"""
    )
    assert found == {"confine": "refused"}


def test_measures_say_what_is_in_force() -> None:
    found = confined("for measure in confine(Confinement()): found[measure.name] = str(measure.is_enforced)")
    required = {"files", "limits", "system calls", "network"}
    assert {name for name in required if found[name] == "True"} == required


@pytest.mark.skipif(not HEADER.exists(), reason="no header of system calls")
def test_numbers_of_system_calls_are_the_kernels() -> None:
    text = HEADER.read_text()
    words = [line.split() for line in text.splitlines() if line.startswith("#define __NR_")]
    numbers = {words[1].removeprefix("__NR_"): int(words[2]) for words in words}
    tables = [table for name, table in vars(system_calls).items() if name.isupper() and isinstance(table, dict)]
    known = {
        name: pair[0] for table in tables for name, pair in table.items() if name not in system_calls.ARCHITECTURES
    }
    assert len(known) > 200
    # The header may be older than the newest calls.
    assert {name: number for name, number in known.items() if name in numbers and numbers[name] != number} == {}


def test_filter_kills_calls_of_another_architecture_and_of_the_x32_abi() -> None:
    architecture = system_calls.ARCHITECTURES["x86_64"]
    program = filters.make_compute_filter(
        architecture, may_read=False, may_write=False, may_connect=False, may_thread=False
    )
    assert run_filter(program, 0, 0x40000003) == bpf.KILL  # i386
    assert run_filter(program, 0, architecture.audit) == bpf.ALLOW
    assert run_filter(program, 0x40000000, architecture.audit) == bpf.KILL
    assert run_filter(program, 59, architecture.audit) == bpf.refuse(system_calls.REFUSED)
    assert run_filter(program, system_calls.NEWEST + 1, architecture.audit) == bpf.refuse(system_calls.ABSENT)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filters_of_both_architectures_decide_alike(machine: str) -> None:
    architecture = system_calls.ARCHITECTURES[machine]
    program = filters.make_program_filter(architecture, may_connect=False, may_write=False, parent=77)

    def decide(table: system_calls.Table, name: str, *arguments: int) -> int:
        return run_filter(program, table[name][architecture.column], architecture.audit, arguments)

    refused = bpf.refuse(system_calls.REFUSED)
    assert decide(system_calls.DANGEROUS, "ptrace") == refused
    assert decide(system_calls.BY_ARGUMENT, "socket", 2) == refused
    assert decide(system_calls.BY_ARGUMENT, "kill", 77, 9) == refused
    assert decide(system_calls.BY_ARGUMENT, "kill", 2**32 - 1, 9) == refused
    assert decide(system_calls.BY_ARGUMENT, "kill", 78, 9) == bpf.ALLOW
    assert decide(system_calls.BY_ARGUMENT, "clone", 0x10000000) == refused
    assert decide(system_calls.BY_ARGUMENT, "clone", 0x01200011) == bpf.ALLOW
    assert decide(system_calls.COMPUTING, "read") == bpf.ALLOW


def run_filter(program: bytes, number: int, audit: int, arguments: tuple[int, ...] = ()) -> int:
    """Interpret a filter as the kernel does, for machines that this one is not."""
    data = struct.pack("IIQ", number, audit, 0) + b"".join(struct.pack("Q", value) for value in arguments)
    steps = [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    at, word = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                (word,) = struct.unpack_from("I", data.ljust(64, b"\0"), value)
            case 0x54:
                word &= value
            case 0x15:
                at += if_true if word == value else if_false
            case 0x25:
                at += if_true if word > value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_process_of_root_becomes_another_user_for_good() -> None:
    found = confined(
        """
confine(Confinement(user=4242, reads=[Path("/proc")]))
found["ids"] = f"{os.getresuid()} {os.getresgid()} {os.getgroups()}"
found["capabilities"] = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapPrm"))
attempt("root again", lambda: os.setuid(0))
"""
    )
    assert found == {
        "ids": "(4242, 4242, 4242) (4242, 4242, 4242) []",
        "capabilities": "CapPrm:\t0000000000000000",
        "root again": "refused",
    }
