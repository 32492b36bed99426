"""The signer as a process of its own user beside a server of another user: keys out of reach, restarts, local commands."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.base.errors import CONSEQUENCES, Kind
from tests.e2e.identity.separate_signer import SERVER_UID, SeparateSite, as_user, missing_tools, separate_site
from tests.e2e.precast_command import DEADLINE_S, PRECAST
from tests.e2e.precast_server import Server, precast, running

needs_two_users = pytest.mark.skipif(bool(missing_tools()), reason=missing_tools())

# What an attacker tries who runs code as the server's user: files, memory, and the socket with the server's own database.
ATTACK = """
import asyncio, json, os, secrets, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from precast.base.errors import PrecastError
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.connection import SocketConnection
from precast.services.identity.signer.messages import EnrolmentRecord, PersonRecord, PolicyRecord
from precast.wire.identity import tokens

data, socket, pid = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def read(path):
    try:
        with open(path, "rb") as file:
            return f"read {len(file.read(1))}"
    except OSError as error:
        return error.strerror

found = {name: read(data / name) for name in (
    "authority/key.pem", "authority/seal-key.pem", "authority/certificate.pem", "signer/log.jsonl")}
found["memory"] = read(f"/proc/{pid}/mem")
found["environment"] = read(f"/proc/{pid}/environ")

key = ec.generate_private_key(ec.SECP256R1())
subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bank1")])
request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
pem = request.public_bytes(serialization.Encoding.PEM).decode()
later = datetime.now(UTC) + timedelta(hours=1)
secret = tokens.EnrolmentSecret(f"{secrets.token_hex(16):0>36}", bytes(32), "0" * 64)
enrolment = EnrolmentRecord(secret.id, tokens.hash_secret(bytes(32)), "*", {"pp_role": "x"}, 1, later)
person = PersonRecord(secret.id, tokens.hash_secret(bytes(32)), "eve", "admin", [], later)
policy = PolicyRecord("web1", 1, "always", [])

async def attack():
    client = SignerClient(SocketConnection(socket))
    await client.refresh()
    for name, attempt in {
        "enrol": client.enrol(pem, str(secret), enrolment, bytes(32)),
        "seal enrolment": client.seal_enrolment(enrolment, None),
        "seal admin": client.seal_person(person, None),
        "approve": client.approve(pem, {}, None),
        "policy": client.sign_policy(policy, bytes(32)),
        "set policy": client.seal_policies(["web1"], "always", [], 0, None),
        "server": client.certify_server(key.public_key(), ["bank.example.com"]),
        "rotate": client.rotate("prepare", "1", None),
    }.items():
        try:
            await attempt
            found[name] = "done"
        except PrecastError as error:
            found[name] = error.code
    await client.close()

asyncio.run(attack())
print(json.dumps(found))
"""
REFUSED = {
    **dict.fromkeys(("enrol", "seal enrolment", "seal admin", "approve", "policy", "set policy", "rotate"), "CA-031"),
    "server": "CA-033",
}


@pytest.fixture
def separate() -> Iterator[SeparateSite]:
    with separate_site() as site:
        yield site


@needs_two_users
def test_process_with_all_rights_of_the_server_cannot_read_the_key_or_mint(separate: SeparateSite) -> None:
    with running(separate.server):
        assert separate.signer is not None
        assert separate.server.read("status")
        ran = separate.run_as_server(ATTACK, str(separate.signer_data), str(separate.socket), str(separate.signer.pid))
        assert (ran.returncode, ran.stderr) == (0, "")
        found = json.loads(ran.stdout)
    denied = {name: found.pop(name) for name in list(found) if found[name] == os.strerror(13)}
    assert set(denied) == {
        *("authority/key.pem", "authority/seal-key.pem", "authority/certificate.pem", "signer/log.jsonl"),
        *("memory", "environment"),
    }
    assert found == REFUSED
    log = (separate.signer_data / "signer" / "log.jsonl").read_text().splitlines()
    refusals = [json.loads(line) for line in log if json.loads(line)["outcome"] == "refused"]
    assert len(refusals) == len(REFUSED)
    assert {line["uid"] for line in refusals} == {SERVER_UID}


@needs_two_users
def test_site_with_two_users_enrols_and_survives_a_restart_of_the_signer(
    separate: SeparateSite, tmp_path: Path
) -> None:
    server = separate.server
    with running(server):
        token = server.command("token", "enrol", "web*", "--uses", "2").out.strip()
        assert server.enrol(tmp_path / "one", "web1", token).code == 0
        separate.stop_signer(signal.SIGKILL)
        # What needs no signature goes on; what needs one is told to try again.
        assert server.read("node", "list")
        refused = server.enrol(tmp_path / "two", "web2", token)
        assert refused.code == CONSEQUENCES[Kind.UNAVAILABLE].exit_code
        assert "CA-030" in refused.err
        separate.start_signer()
        assert server.enrol(tmp_path / "two", "web2", token).code == 0
        # The count of the first signer is the count of the second.
        third = server.enrol(tmp_path / "three", "web3", token)
        assert "CA-006" in third.err
    assert not (separate.server_data / "authority").exists()


@needs_two_users
def test_admin_token_is_made_by_root_and_not_by_the_servers_user(separate: SeparateSite) -> None:
    words: list[str | Path] = ["server", "admin", "--data", separate.server_data, "--signer", separate.socket]
    as_server = subprocess.run(
        as_user(SERVER_UID, [PRECAST, *map(str, words)]),
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert "CA-031" in as_server.stderr
    made = precast(*words)
    assert (made.code, made.err) == (0, "")
    for path in separate.server_data.iterdir():
        os.chown(path, SERVER_UID, SERVER_UID)
    with running(separate.server):
        separate.server.admin = made.out.strip()
        assert separate.server.read("token", "list")


def test_signer_of_a_small_site_is_a_child_that_is_restarted_and_ends_with_its_server(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    with running(server):
        assert server.process is not None
        (first,) = _signers(server.process.pid)
        # It is confined: a filter of system calls, no capabilities, and nobody may look into its memory.
        state = dict(line.split(":\t", 1) for line in Path(f"/proc/{first}/status").read_text().splitlines())
        assert (state["Seccomp"], state["NoNewPrivs"], int(state["CapEff"], 16)) == ("2", "1", 0)
        os.kill(first, signal.SIGKILL)
        token = server.command("token", "enrol", "web1")
        assert (token.code, token.err) == (0, "")
        (second,) = _signers(server.process.pid)
        assert second != first
        handle = os.pidfd_open(second)
        server.stop(signal.SIGKILL)
        # Readable when the process has ended.
        assert select.select([handle], [], [], DEADLINE_S)[0]
        os.close(handle)


def test_all_workers_of_a_server_share_one_signer(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    server.more = ["--workers", "3"]
    with running(server):
        assert server.process is not None
        workers = _children(server.process.pid)
        assert [len(_signers(worker)) for worker in workers].count(1) == 1
        assert sum(len(_signers(worker)) for worker in workers) == 1
        for number in range(6):
            assert server.command("token", "enrol", f"web{number}").code == 0


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _signers(pid: int) -> list[int]:
    return [child for child in _children(pid) if b"signer" in Path(f"/proc/{child}/cmdline").read_bytes()]
