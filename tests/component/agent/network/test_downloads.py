"""The network process of a fetch: real processes, real TLS, as root; what it may do, and what root refuses if it was taken over."""

import os
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.catalog.cached_release import AppliedRelease, release_path
from precast.agent.catalog.content_download import download_contents
from precast.agent.catalog.fetch import fetch_and_note
from precast.agent.identity.credentials import Credentials
from precast.agent.network import messages, request_process
from precast.agent.network.frames import MAX_FRAME_BYTES, receive_frame, send_frame
from precast.agent.network.privileges import drop_privileges, find_user
from precast.agent.network.request_child import serve_requests
from precast.agent.network.request_process import network_client
from precast.agent.state.status_notes import NetworkNote
from precast.agent.state.store import LocalStore
from precast.base.errors import DeniedError, UnavailableError
from precast.services.code.file_trees import MAX_FILE_BYTES

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


def fetch(server: CatalogServer, serve: request_process.Serve = serve_requests, applied: int = 0) -> Any:
    context = Credentials(server.root).context()
    with ExitStack() as stack:
        client = stack.enter_context(network_client(context, "precast-agent", serve))
        store = stack.enter_context(closing(LocalStore.open(server.root, lambda: "instance")))
        if applied:
            store.write_note(AppliedRelease(applied, ""))
        return fetch_and_note(server.root, [server.url], client, store)


def with_contents(*contents: bytes, server: CatalogServer) -> bytes:
    named = {f"puppet:///modules/m/{number}": server.put(data) for number, data in enumerate(contents)}
    return msgspec.json.encode({"resources": [], "content": named})


def test_catalog_and_contents_come_through_the_network_process_and_are_stored_by_root(server: CatalogServer) -> None:
    server.catalog = with_contents(b"x" * 3_000_000, b"small", server=server)
    fetched = fetch(server)
    assert (fetched.is_new, fetched.contents, fetched.release) == (True, 2, 1)
    assert catalog_path(server.root).read_bytes() == server.catalog
    assert all(path.stat().st_uid == os.getuid() for path in (server.root / "var/lib/precast/agent").rglob("*"))
    # The same again is not sent again; a new release of the same catalog is noted.
    server.sequence = 2
    assert (fetch(server).is_new, fetch(server).release) == (False, 2)
    assert b'"sequence\\":2' in release_path(server.root).read_bytes()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node": "web2"}, "it is for web2"),
        ({"digest": "0" * 64}, "it names the catalog 000000000000"),
        ({"sequence": 4}, "older than the release applied last"),
    ],
)
def test_pointer_of_another_node_or_catalog_or_an_old_one_is_refused_and_the_cached_catalog_stays(
    server: CatalogServer, changes: dict[str, Any], reason: str
) -> None:
    server.sequence = 5
    fetch(server)
    before = catalog_path(server.root).read_bytes()
    server.catalog, server.changes = b'{"resources": [], "version": "2"}', changes
    with pytest.raises(DeniedError, match=reason) as raised:
        fetch(server, applied=5)
    assert raised.value.code == "AGENT-019"
    assert catalog_path(server.root).read_bytes() == before


def test_content_that_does_not_have_its_digest_is_refused(server: CatalogServer) -> None:
    server.catalog = with_contents(b"good", server=server)
    server.contents = dict.fromkeys(server.contents, b"evil")
    with pytest.raises(DeniedError) as raised:
        fetch(server)
    assert raised.value.code == "AGENT-017"
    assert not catalog_path(server.root).exists()


def test_error_of_the_server_and_of_the_connection_reaches_root_as_it_is(server: CatalogServer) -> None:
    context = Credentials(server.root).context()
    with network_client(context, "precast-agent") as client:
        with pytest.raises(UnavailableError) as raised:
            client.get("https://127.0.0.1:1", "/v1/catalog", {})
        assert raised.value.code == "HTTP-002"
        # The process serves the next request all the same.
        assert client.get(server.url, "/v1/content/none", {}).status == 404


# What a network process does that was taken over.


Attack = Callable[[socket.socket], None]


def taken_over(attack: Attack) -> request_process.Serve:
    def serve(peer: socket.socket, context: ssl.SSLContext, user: str) -> None:
        send_frame(peer, drop_privileges(user, [peer.fileno()]))
        receive_frame(peer, messages.FROM_ROOT)
        attack(peer)
        peer.recv(1)  # until root ends it

    return serve


def raw(data: bytes) -> Attack:
    return lambda peer: peer.sendall(struct.pack(">I", len(data)) + data)


def sent(*given: msgspec.Struct) -> Attack:
    def attack(peer: socket.socket) -> None:
        for message in given:
            send_frame(peer, message)

    return attack


HEAD = messages.Head(200, {})


@pytest.mark.parametrize(
    "attack",
    [
        raw(b"\xff" * 100),
        raw(b""),
        raw(msgspec.msgpack.encode({"type": "Head", "status": 200, "headers": {}, "path": "/etc/passwd"})),
        raw(msgspec.msgpack.encode({"type": "Get", "url": "", "path": "", "headers": {}})),
        raw(msgspec.msgpack.encode({"type": "Head", "status": 99, "headers": {}})),
        raw(msgspec.msgpack.encode({"type": "Head", "status": 200, "headers": {"a": "x" * 20_000}})),
        raw(b"\x91" * 100_000),
        lambda peer: peer.sendall(struct.pack(">I", MAX_FRAME_BYTES + 1) + b"x" * 1000),
        lambda peer: peer.sendall(struct.pack(">I", 2**32 - 1)),
        sent(messages.End()),
        sent(messages.Piece(b"x")),
        sent(HEAD, HEAD),
        sent(messages.Head(404, {}), messages.Head(200, {"Precast-Release": "x"})),
        raw(msgspec.msgpack.encode({"type": "Failed", "kind": "denied", "code": "../../x", "message": "", "hint": ""})),
    ],
)
def test_message_of_another_shape_or_out_of_place_is_refused_and_nothing_is_written(
    server: CatalogServer, attack: Attack
) -> None:
    before = {path: path.read_bytes() for path in server.root.rglob("*") if path.is_file()}
    with pytest.raises(DeniedError) as raised:
        fetch(server, taken_over(attack))
    assert raised.value.code == "AGENT-020"
    assert "\n" not in raised.value.message
    kept = {path: path.read_bytes() for path in before}
    assert kept == before
    assert not catalog_path(server.root).exists()


def test_endless_answer_is_refused_at_the_limit(server: CatalogServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def attack(peer: socket.socket) -> None:
        send_frame(peer, HEAD)
        while True:
            send_frame(peer, messages.Piece(b"x" * messages.MAX_PIECE_BYTES))

    monkeypatch.setattr(request_process, "MAX_ANSWER_BYTES", 3_000_000)
    with pytest.raises(DeniedError, match="a body of more than 3000000 bytes"):
        fetch(server, taken_over(attack))


def test_content_is_as_large_as_servers_accept_at_most_also_in_several_parts(
    server: CatalogServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert request_process.MAX_DOWNLOAD_BYTES == MAX_FILE_BYTES

    def attack(peer: socket.socket) -> None:
        for _ in range(5):  # the connection breaks, and root asks for the rest
            send_frame(peer, messages.Head(206, {}))
            for _ in range(4):
                send_frame(peer, messages.Piece(b"x" * messages.MAX_PIECE_BYTES))
            send_frame(peer, messages.Failed("unavailable", "HTTP-002", "broken", ""))
            receive_frame(peer, messages.FROM_ROOT)

    monkeypatch.setattr(request_process, "MAX_DOWNLOAD_BYTES", 3_000_000)
    context = Credentials(server.root).context()
    with (
        network_client(context, "precast-agent", taken_over(attack)) as client,
        pytest.raises(DeniedError, match="a body of more than"),
    ):
        download_contents(tmp_path / "content", ["0" * 64], server.url, client)
    written = [path.stat().st_size for path in (tmp_path / "content").iterdir()]
    assert sum(written) <= 3_000_000


def test_process_that_ends_or_is_silent_is_an_error_that_can_be_retried(
    server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnavailableError) as raised:
        fetch(server, taken_over(lambda peer: os._exit(0)))
    assert raised.value.code == "AGENT-021"
    monkeypatch.setattr(request_process, "SILENCE_S", 0.2)
    with pytest.raises(UnavailableError) as raised:
        fetch(server, taken_over(lambda peer: None))
    assert raised.value.code == "AGENT-021"


def test_catalog_that_the_process_invents_is_refused_for_lack_of_a_signature(server: CatalogServer) -> None:
    def attack(peer: socket.socket) -> None:
        send_frame(peer, messages.Head(404, {}))  # there is no policy
        send_frame(peer, messages.End())
        receive_frame(peer, messages.FROM_ROOT)
        send_frame(peer, messages.Head(200, {"Precast-Release": server.pointer()}))
        send_frame(peer, messages.Piece(b'{"resources": [{"type": "Exec", "title": "/bin/evil"}]}'))
        send_frame(peer, messages.End())

    with pytest.raises(DeniedError) as raised:
        fetch(server, taken_over(attack))
    assert raised.value.code == "AGENT-019"
    assert not catalog_path(server.root).exists()


# What the process cannot do.


def answers_of(tries: dict[str, Callable[[], object]], keep: Path) -> dict[str, str]:
    """What happens when a network process tries these things, by name: the name of the error, or `done`."""

    def serve(peer: socket.socket, context: ssl.SSLContext, user: str) -> None:
        send_frame(peer, drop_privileges(user, [peer.fileno()]))
        receive_frame(peer, messages.FROM_ROOT)
        outcomes = {}
        for name, attempt in tries.items():
            try:
                attempt()
                outcomes[name] = "done"
            except BaseException as error:  # noqa: BLE001 - every outcome counts
                outcomes[name] = type(error).__name__
        send_frame(peer, HEAD)
        send_frame(peer, messages.Piece(msgspec.json.encode(outcomes)))
        send_frame(peer, messages.End())

    with network_client(ssl.create_default_context(), "precast-agent", serve) as client:
        return dict(msgspec.json.decode(client.get("", "", {}).body))


@AS_ROOT
def test_process_cannot_read_the_agents_state_write_a_file_or_reach_root(server: CatalogServer, tmp_path: Path) -> None:
    state = server.root / "var/lib/precast/agent"
    for place in (tmp_path, *list(tmp_path.parents)[:2]):
        place.chmod(0o755)
    public = tmp_path / "public"
    public.write_text("readable by everybody")
    public.chmod(0o644)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    pid = os.getpid()

    def write(path: Path) -> Callable[[], object]:
        return lambda: path.open("w")

    outcomes = answers_of(
        {
            "key": (state / "key.pem").read_bytes,
            "state": lambda: list(state.iterdir()),
            "shadow": Path("/etc/shadow").read_bytes,
            "other file": public.read_bytes,
            "write": write(shared / "x"),
            "write to tmp": write(Path("/tmp/network-process-was-here")),
            "memory of root": Path(f"/proc/{pid}/mem").read_bytes,
            "variables of root": Path(f"/proc/{pid}/environ").read_bytes,
            "signal to root": lambda: os.kill(pid, 0),
            "trace of root": lambda: _trace(pid),
            "back to root": lambda: os.setuid(0),
            "program": lambda: os.execv("/bin/true", ["true"]),
            "child": os.fork,
            "unix socket": lambda: socket.socket(socket.AF_UNIX),
            "raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
            "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        },
        tmp_path,
    )
    assert {name for name, outcome in outcomes.items() if outcome == "done"} == set(), outcomes
    assert not (shared / "x").exists()


@AS_ROOT
def test_process_is_an_unprivileged_user_that_nobody_else_can_trace(server: CatalogServer) -> None:
    seen: dict[str, Any] = {}

    def serve(peer: socket.socket, context: ssl.SSLContext, user: str) -> None:
        serve_requests(peer, context, user)

    with network_client(Credentials(server.root).context(), "precast-agent", serve) as client:
        client.get(server.url, "/v1/content/none", {})
        assert client.note == NetworkNote(find_user("precast-agent")[0], [])
        # Names are resolved: the certificate is for the address only.
        with pytest.raises(DeniedError, match="localhost"):
            client.get(server.url.replace("127.0.0.1", "localhost"), "/v1/content/none", {})
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        status = Path(f"/proc/{children[-1]}/status").read_text()
        seen = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    uid, gid = find_user("precast-agent")
    assert seen["Uid"].split() == [str(uid)] * 4
    assert seen["Gid"].split() == [str(gid)] * 4
    assert seen["Groups"].strip() == ""
    assert int(seen["CapEff"], 16) == int(seen["CapPrm"], 16) == 0
    assert (seen["NoNewPrivs"], seen["Seccomp"]) == ("1", "2")


def test_unknown_user_and_root_are_refused() -> None:
    with pytest.raises(LookupError, match="there is no user"):
        find_user("no-such-user-at-all")
    with pytest.raises(LookupError, match="root is root"):
        find_user("root")


def _trace(pid: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
