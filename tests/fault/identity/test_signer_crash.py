"""The signer is killed at random moments under enrolment load: no token is used more often than it allows, every certificate is audited,
and nothing hangs."""

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.services.identity.signer.signer_log import verify
from tests.e2e.precast_server import Server, running

SEED = random.SystemRandom().randrange(2**32)
MACHINES, USES = 60, 40
KILLS = 8
# Every machine repeats its request until the server decides, or until this time has passed.
LIMIT_S = 120


def request_of(name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


class Machine:
    """A machine that keeps its key and asks until it has a certificate or is refused."""

    def __init__(self, server: Server, name: str, token: str) -> None:
        self._server = server
        self.body = json.dumps({"request": request_of(name), "token": token}).encode()
        self.certificates: list[str] = []

    def enrol(self, until_s: float) -> int:
        while time.monotonic() < until_s:
            answer = self._server.ask("POST", "/v1/enrolments", body=self.body)
            if answer.status == 200:
                self.certificates.append(answer.body["certificate"])
            if answer.status not in (429, 503):
                return answer.status
            time.sleep(0.05)
        raise AssertionError("an enrolment hangs")


def test_killed_signer_grants_no_further_use_and_no_unaudited_certificate(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    server = Server.init(tmp_path / "data")
    with running(server):
        token = server.command("token", "enrol", "node*", "--uses", str(USES)).out.strip()
        machines = [Machine(server, f"node{number}", token) for number in range(MACHINES)]
        is_done = threading.Event()
        killer = threading.Thread(target=_kill, args=(server, chance, is_done))
        killer.start()
        until_s = time.monotonic() + LIMIT_S
        try:
            with ThreadPoolExecutor(12) as pool:
                statuses = list(pool.map(lambda machine: machine.enrol(until_s), machines))
        finally:
            is_done.set()
            killer.join()
        # A machine that asks again with the same key gets its certificate, and costs no further use.
        again = [machine.enrol(until_s) for machine, status in zip(machines, statuses, strict=True) if status == 200]
    assert Counter(statuses) == {200: USES, 403: MACHINES - USES}
    assert again == [200] * USES
    _check_traces(server, machines)


def _check_traces(server: Server, machines: list[Machine]) -> None:
    """Every certificate that left has a row and an audit entry; the signer's log is whole and has every certificate."""
    serials = {
        f"{x509.load_pem_x509_certificate(pem.encode()).serial_number:x}"
        for machine in machines
        for pem in machine.certificates
    }
    with sqlite3.connect(server.data / "precast.db") as database:
        stored = {row[0] for row in database.execute("SELECT serial FROM certificate")}
        details = [
            json.loads(row[0])
            for row in database.execute("SELECT detail FROM audit WHERE action = 'certificate.enrol'")
        ]
        (left,) = database.execute("SELECT uses_left FROM enrolment_token").fetchone()
    database.close()
    audited = {detail["serial"] for detail in details}
    assert serials <= stored == audited
    assert left == 0
    log = server.data / "signer" / "log.jsonl"
    assert verify(log).lines > 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    signed = {line["detail"]["serial"] for line in lines if (line["verb"], line["outcome"]) == ("enrol", "signed")}
    assert stored <= signed
    keys = {json.loads(line).get("key") for line in (server.data / "signer" / "tokens.jsonl").read_text().splitlines()}
    assert len(keys) == USES


def _kill(server: Server, chance: random.Random, is_done: threading.Event) -> None:
    assert server.process is not None
    for _ in range(KILLS):
        if is_done.wait(chance.uniform(0.02, 0.4)):
            return
        for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split():
            try:
                if b"signer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                continue
