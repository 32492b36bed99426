"""Plug-ins of an environment that the node's policy does not trust: real processes, as root, that try what an attacker would."""

import ctypes
import os
import shutil
import socket
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from precast.agent.facts import plugins
from precast.agent.facts.collection import Collection, Collector
from precast.agent.facts.machine import Machine, NoKernel

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

Confined = Callable[[str], Collection]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the environment's plug-ins, which only root may enter, like the real one."""
    place = tmp_path / "state/plugins/facts"
    place.mkdir(parents=True, mode=0o755)
    (tmp_path / "state").chmod(0o700)
    monkeypatch.setattr(plugins, "OF_ENVIRONMENT", str(place))
    return place


@pytest.fixture
def confined(directory: Path) -> Confined:
    def run(body: str) -> Collection:
        text = "import os, sys\ndef facts():\n" + textwrap.indent(textwrap.dedent(body), "    ")
        (directory / "site__x.py").write_text(text)
        return collect(directory)

    return run


def collect(directory: Path, may_trust: plugins.MayTrust = plugins.never_trust) -> Collection:
    machine = Machine(Path("/"), NoKernel())
    return Collector([plugins.directory_source(machine, str(directory), may_trust)]).collect()


def test_plugin_is_nobody_without_groups_capabilities_or_a_way_back(confined: Confined) -> None:
    collected = confined(
        """
        status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
        try:
            os.setuid(0)
            back = True
        except PermissionError:
            back = False
        names = ("CapEff", "CapPrm", "CapInh", "CapAmb", "NoNewPrivs")
        return {"ids": [*os.getresuid(), *os.getresgid()], "groups": os.getgroups(), "back": back,
                "status": [int(status[name], 16) for name in names]}
        """
    )
    assert collected.warnings == []
    assert collected.facts["ids"] == [65534] * 6
    assert (collected.facts["groups"], collected.facts["back"]) == ([], False)
    assert collected.facts["status"] == [0, 0, 0, 0, 1]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_plugin_has_no_network_and_sees_no_process_of_the_machine(confined: Confined, listener: socket.socket) -> None:
    collected = confined(
        f"""
        import socket
        try:
            socket.create_connection(("127.0.0.1", {listener.getsockname()[1]}), timeout=2)
            connected = True
        except OSError:
            connected = False
        try:
            os.kill({os.getpid()}, 0)
            signalled = True
        except OSError:
            signalled = False
        links = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
        seen = [name for name in os.listdir("/proc") if name.isdigit()]
        return {{"connected": connected, "signalled": signalled, "links": links, "seen": len(seen)}}
        """
    )
    assert collected == ({"connected": False, "signalled": False, "links": ["lo"], "seen": 1}, [])


def test_plugin_reads_no_secret_and_writes_only_to_its_own_small_directory(
    confined: Confined, tmp_path: Path, directory: Path
) -> None:
    collected = confined(
        f"""
        def tries(path, mode):
            try:
                open(path, mode).close()
                return True
            except OSError:
                return False
        with open("own", "w") as file:
            file.write("x")
        filled = 0
        try:
            while filled < 100:
                with open(f"file{{filled}}", "wb") as file:
                    file.write(b"x" * (1 << 20))
                filled += 1
        except OSError:
            pass
        return {{"where": os.getcwd(), "filled": filled, "own": os.path.exists("own"),
                "read": [tries(path, "r") for path in ("/etc/shadow", {str(directory / "site__x.py")!r})],
                "written": [tries(path, "a") for path in
                            ("/etc/motd", "/run/lock/x", "/var/lib/x", {str(tmp_path / "x")!r}, "/dev/shm/../../etc/x")]}}
        """
    )
    assert collected.warnings == []
    assert collected.facts["own"]
    assert collected.facts["filled"] < 20
    assert collected.facts["read"] == [False, False]
    assert collected.facts["written"] == [False] * 5
    assert not Path("/tmp/own").exists(), "its working directory is its own"
    assert not (tmp_path / "x").exists()


@pytest.fixture
def key_of_root() -> int:
    """A key in the session keyring of this process, which its children inherit: the kernel lets whoever possesses a key read it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.uname().machine != "x86_64" or libc.syscall(250, 1, None) < 0:
        pytest.skip("needs keyrings of the kernel")
    key: int = libc.syscall(248, b"user", b"precast-test", b"secret", 6, -3)
    if key < 0:
        pytest.skip("needs keyrings of the kernel")
    return key


@pytest.fixture
def open_service() -> Iterator[str]:
    """A Unix socket of a service that every user may connect to."""
    place = Path(tempfile.mkdtemp(dir="/var/lib"))
    place.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "socket"))
        (place / "socket").chmod(0o777)
        server.listen()
        yield str(place / "socket")
    shutil.rmtree(place)


def test_plugin_reaches_no_key_of_root_no_service_and_no_other_namespace(
    confined: Confined, key_of_root: int, open_service: str
) -> None:
    collected = confined(
        f"""
        import ctypes, errno, socket
        libc = ctypes.CDLL(None, use_errno=True)
        def call(*arguments):
            return errno.errorcode[ctypes.get_errno()] if libc.syscall(*arguments) < 0 else "allowed"
        def connect():
            try:
                socket.socket(socket.AF_UNIX).connect({open_service!r})
                return "allowed"
            except OSError as error:
                return errno.errorcode[error.errno]
        buffer = ctypes.create_string_buffer(200)
        return {{"key": call(250, 11, {key_of_root}, buffer, 100), "service": connect(),
                "namespace": call(272, 0x10000000), "ring": call(425, 8, buffer), "trace": call(101, 0, 0, 0, 0)}}
        """
    )
    assert collected == (dict.fromkeys(("key", "service", "namespace", "ring", "trace"), "EPERM"), [])


def test_plugin_holds_no_directory_and_is_ended_first_when_memory_runs_out(confined: Confined) -> None:
    collected = confined(
        """
        held = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
                if os.path.isdir(f"/proc/self/fd/{name}")]
        try:
            open("/proc/self/oom_score_adj", "w").write("0")
        except OSError:
            pass
        import sqlite3, decimal  # the libraries can be reached all the same
        return {"held": held, "first": int(open("/proc/self/oom_score_adj").read())}
        """
    )
    assert collected == ({"held": [], "first": 1000}, [])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("return {'a': 'x' * (1 << 30)}", "FACT-027"),
        ("return {'a': [open('/dev/null') for _ in range(100)] and 1}", "FACT-027"),
        ("open('big', 'wb').write(b'x' * (32 << 20))\nreturn {}", "FACT-027"),
        ("return {'a': 'x' * 2_000_000}", "FACT-026"),
        ("while True:\n    if os.fork() == 0:\n        import time; time.sleep(60)", "FACT-027"),
        ("import time\ntime.sleep(60)", "FACT-010"),
    ],
    ids=["memory", "open files", "file size", "output", "processes", "time"],
)
def test_plugin_past_a_limit_costs_its_facts_and_one_warning(
    confined: Confined, monkeypatch: pytest.MonkeyPatch, body: str, code: str
) -> None:
    monkeypatch.setattr(plugins, "PLUGIN_S", 2.0)
    collected = confined(body)
    assert collected.facts == {}
    assert [warning.code for warning in collected.warnings] == [code]


def test_plugin_that_leaves_a_process_behind_leaves_none(confined: Confined, tmp_path: Path) -> None:
    collected = confined(
        """
        if os.fork() == 0:
            os.setsid()
            os.close(0), os.close(1), os.close(2)
            import time; time.sleep(300)
        return {"a": 1}
        """
    )
    assert collected.facts == {"a": 1}
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in path.read_bytes()]
    assert left == []


def test_plugin_that_cannot_be_confined_is_not_run_and_there_is_one_warning(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    (directory / "site__x.py").write_text(f"open({str(mark)!r}, 'w')\ndef facts():\n    return {{'a': 1}}\n")
    broken = tmp_path / "confinement.py"
    broken.write_text("def confine(calls):\n    raise OSError(1, 'new namespaces: Operation not permitted')\n")
    with monkeypatch.context() as changed:
        changed.setattr(plugins, "_CONFINEMENT", broken)
        collected = collect(directory)
    assert collected.facts == {}
    assert [warning.code for warning in collected.warnings] == ["FACT-029"]
    assert "was not run: new namespaces: Operation not permitted" in collected.warnings[0].message
    with monkeypatch.context() as changed:
        changed.setattr(os, "geteuid", lambda: 1000)
        assert [warning.code for warning in collect(directory).warnings] == ["FACT-029"]
    assert not mark.exists()


def test_plugins_of_a_trusted_environment_and_of_an_administrator_run_as_root(directory: Path, tmp_path: Path) -> None:
    text = "import os\ndef facts():\n    return {'uid': os.getuid()}\n"
    (directory / "site__x.py").write_text(text)
    assert collect(directory, lambda: True) == ({"uid": 0}, [])
    own = tmp_path / "facts.py.d"
    own.mkdir(mode=0o755)
    (own / "x.py").write_text(text)
    assert collect(own) == ({"uid": 0}, [])
    # Another name of the environment's directory does not help.
    (tmp_path / "alias").symlink_to(directory)
    assert collect(tmp_path / "alias").facts == {"uid": 65534}
