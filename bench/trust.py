"""What strangers cost: the CPU time of every public route, and the latency of a well-behaved node while strangers flood the server.

    .venv/bin/python bench/trust.py [--quick]

A real server with its database, over TLS 1.3. The CPU of a route is the CPU time of the server's process divided by the requests that
it answered, over one open connection; its quotas are raised for that. For the flood the limits are the usual ones: strangers from many
addresses of loopback keep silent, break off, send garbage, fetch public pages and guess tokens, while a node sends one fact set after
the other and waits for each acknowledgement. The full run writes bench/results/trust.json; the quick one (under a minute) writes nothing.
"""

import asyncio
import base64
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bench.report import Goal, finish, parse_quick, print_rows
from lab.flood import make_certificate_request, make_enrolment_token, make_person_token
from lab.flood_process import flooded, read_refused
from lab.session import Peer, Store
from lab.site import Site
from precast.base import canonical, digests, https
from precast.wire import sessions as session

# Each request is as large as a stranger likes: a valid form, and content that is refused as late as possible.
FORM = {"Content-Type": "application/json"}
TARGET_CPU_MS, TARGET_P99_MS = 2.0, 250.0
SOURCES = [*(f"127.0.{number}.2" for number in range(5)), *["127.0.0.3"] * 10]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class PublicRequest(NamedTuple):
    """A request that anybody may send."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed

    @property
    def name(self) -> str:
        note = " (gzip)" if "Accept-Encoding" in self.headers else ""
        return f"{self.method} {self.path[:40]}{note}"


def list_requests(certificate_request: str) -> list[PublicRequest]:
    """Every public route, and the answers that strangers can cause without one."""
    compressed = {"Accept-Encoding": "gzip"}
    enrol = json.dumps({"request": certificate_request, "token": make_enrolment_token()}).encode()
    renew = json.dumps(_renewal()).encode()
    ask = json.dumps({"request": certificate_request}).encode()
    return [
        PublicRequest("GET", "/health/live"),
        PublicRequest("GET", "/health/ready"),
        PublicRequest("GET", "/"),
        PublicRequest("GET", "/web/main.js"),
        PublicRequest("GET", "/v1/openapi.json"),
        PublicRequest("GET", "/v1/openapi.json", headers=compressed),
        PublicRequest("GET", "/v1/reference"),
        PublicRequest("GET", "/v1/reference", headers=compressed),
        PublicRequest("GET", "/v1/authority"),
        PublicRequest("GET", "/v1/crl"),
        PublicRequest("GET", "/v1/crl.pem"),
        PublicRequest("POST", "/v1/enrolments", enrol, FORM),
        PublicRequest("POST", "/v1/renewals", renew, FORM),
        PublicRequest("POST", "/v1/requests", ask, FORM),
        PublicRequest("POST", "/v1/hooks/production", b"{}" * 1000, {"X-Hub-Signature-256": "sha256=" + "0" * 64}),
        PublicRequest(
            "POST",
            "/v1/web/session",
            json.dumps({"token": make_person_token()}).encode(),
            {**FORM, "X-Precast-Web": "1"},
        ),
        PublicRequest("GET", "/v1/nothing"),
        PublicRequest("GET", "/v1/" + "%41" * 2000),
        PublicRequest("GET", "/v1/nodes?" + "&".join(f"a{number}=b" for number in range(1000))),
        PublicRequest("GET", "/v1/nodes", headers={"Authorization": f"Bearer {make_person_token()}"}),
    ]


def _renewal() -> dict[str, str]:
    """A renewal whose every signature is right, with a certificate that the stranger has made itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stranger")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    proof = key.sign(request.public_bytes(serialization.Encoding.DER), ec.ECDSA(hashes.SHA256()))
    return {
        "request": request.public_bytes(serialization.Encoding.PEM).decode(),
        "certificate": certificate.public_bytes(serialization.Encoding.PEM).decode(),
        "proof": base64.b64encode(proof).decode(),
    }


def cpu_s(pid: int) -> float:
    """The CPU time of the server and of the processes that it has started, such as the signer."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S + sum(cpu_s(int(child)) for child in children)


def measure_routes(site: Site, count: int) -> list[dict[str, Any]]:
    """The CPU time of the server for each request, and the most frequent status."""
    context = https.trust_authority(Path(site.environment["PRECAST_CA"]).read_text())
    rows = []
    for request in list_requests(make_certificate_request()):
        connection = HTTPSConnection("127.0.0.1", site.port, context=context, timeout=30)
        statuses = [_send(connection, request) for _ in range(20)]
        before_s = cpu_s(site.pid)
        statuses += [_send(connection, request) for _ in range(count)]
        each_ms = (cpu_s(site.pid) - before_s) / count * 1000
        connection.close()
        rows.append({"route": request.name, "status": statistics.mode(statuses), "cpu_ms": each_ms})
    return rows


def _send(connection: HTTPSConnection, request: PublicRequest) -> int:
    connection.request(request.method, request.path, request.body or None, request.headers)
    response = connection.getresponse()
    response.read()
    return response.status


def measure_handshakes(site: Site, count: int) -> float:
    """The CPU time of the server for a stranger's TLS handshake, in ms."""
    context = https.trust_authority(Path(site.environment["PRECAST_CA"]).read_text())
    before_s = cpu_s(site.pid)
    for _ in range(count):
        connection = HTTPSConnection("127.0.0.1", site.port, context=context, timeout=30)
        connection.connect()
        connection.close()
    return (cpu_s(site.pid) - before_s) / count * 1000


async def measure_latencies(peer: Peer, count: int) -> list[float]:
    """The time from sending a fact set to its acknowledgement, in ms."""
    taken_ms = []
    for number in range(count):
        stable = {"number": number}
        body = {"digest": digests.of_bytes(canonical.encode(stable)), "volatile": {}, "stable": stable}
        began_s = time.perf_counter()
        await peer.acknowledged(await peer.send(session.FACTS, body))
        taken_ms.append((time.perf_counter() - began_s) * 1000)
        await asyncio.sleep(0.01)
    return taken_ms


async def measure_flood(site: Site, count: int) -> dict[str, Any]:
    """Latencies of one node before and during a flood, and what the flood met."""
    context = site.enrol("web1").context()
    async with Peer(site.url, context, Store()) as peer:
        await peer.greet()
        await measure_latencies(peer, 20)
        before = await measure_latencies(peer, count)
        with flooded(site, SOURCES) as flood:
            await measure_latencies(peer, 20)
            during = await measure_latencies(peer, count)
            refused = await asyncio.to_thread(read_refused, site)
            rss_mb = _rss_mb(site.pid)
    statuses = {
        kind: {status: times for status, times in outcomes.items() if times}
        for kind, outcomes in flood.outcomes.items()
    }
    return {
        "before_p50_ms": _percentile(before, 50),
        "before_p99_ms": _percentile(before, 99),
        "during_p50_ms": _percentile(during, 50),
        "during_p99_ms": _percentile(during, 99),
        "acknowledged": len(during),
        "server_rss_mb": rss_mb,
        "refused_connections": refused,
        "outcomes": statuses,
    }


def _percentile(values: Sequence[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def _rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))) / 1024


def main() -> None:
    is_quick = parse_quick(__doc__)
    requests, records = (200, 200) if is_quick else (2_000, 2_000)
    with tempfile.TemporaryDirectory(prefix="precast-trust-") as name:
        with Site(Path(name) / "routes", words=["--requests-per-second", "1000000"]) as site:
            rows = measure_routes(site, requests)
            handshake_ms = measure_handshakes(site, requests)
        with Site(Path(name) / "flood") as site:
            flood = asyncio.run(measure_flood(site, records))
    print_rows(["public route", "status", "CPU, ms"], [[row["route"], row["status"], row["cpu_ms"]] for row in rows])
    print(f"a stranger's TLS handshake: {handshake_ms:.2f} ms\n")
    latencies = [
        ["before the flood", flood["before_p50_ms"], flood["before_p99_ms"]],
        ["during the flood", flood["during_p50_ms"], flood["during_p99_ms"]],
    ]
    print_rows(["a node's fact set is acknowledged within, ms", "p50", "p99"], latencies)
    print(f"refused connections: {flood['refused_connections']}")
    print(f"the strangers' attempts: {flood['outcomes']}\n")
    dearest = max(row["cpu_ms"] for row in rows)
    goals = [
        Goal("trust-public-cpu-ms", round(dearest, 2), TARGET_CPU_MS, dearest <= TARGET_CPU_MS),
        Goal(
            "trust-flood-p99-ms",
            round(flood["during_p99_ms"], 1),
            TARGET_P99_MS,
            flood["during_p99_ms"] <= TARGET_P99_MS,
        ),
    ]
    finish("trust", is_quick, {"routes": rows, "handshake_ms": handshake_ms, "flood": flood}, goals)


if __name__ == "__main__":
    main()
