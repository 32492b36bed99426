"""A server that a fetching agent meets: policy, catalog, contents, secrets and content of tasks over real TLS, with its own authority.

It answers what a test tells it to, so it can also be one that lies, breaks off or answers for another node.
"""

import base64
import hmac
import http.server
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from lab.scripted_server import ScriptedServer
from precast.base import canonical, digests
from precast.base.files import write_private
from precast.catalog.secret_references import REFERENCE, make_reference
from precast.services.identity.certificates import CURVE, certificate_pem, private_pem
from precast.wire.catalogs.release_pointer import (
    HEADER,
    ReleasePointer,
    SignedRelease,
    release_text,
    signed_release_bytes,
)
from precast.wire.plans.task_content import PATH as TASK_CONTENT
from precast.wire.secrets.delivery import SecretsBody, SecretValue, SecretValues


class CatalogServer:
    """A context manager: the server runs inside the block, in a thread."""

    def __init__(self, directory: Path, name: str = "web1") -> None:
        self.authority = ScriptedServer(directory)
        self.name = name
        self.root = directory / "node"
        self.catalog, self.sequence = b'{"resources": []}', 1
        self.changes: dict[str, Any] = {}
        self.contents: dict[str, bytes] = {}
        self.entries: dict[tuple[str, str], bytes] = {}
        self.secrets: dict[str, SecretValue] = {}
        self.values_at_once = 500
        self.before_secrets: Callable[[SecretsBody], None] = lambda body: None  # called when values are asked for
        self.asked: list[str] = []
        self.problems: list[dict[str, Any]] = []  # the answers to the next requests for content of tasks
        self._directory = directory
        self.authority.enrol(self.root, name)

    def __enter__(self) -> Self:
        key = ec.generate_private_key(CURVE)
        now = datetime.now(UTC)
        certificate = self.authority.authority.sign_server(key.public_key(), ["127.0.0.1"], now)
        write_private(self._directory / "key.pem", private_pem(key))
        write_private(self._directory / "certificate.pem", certificate_pem(certificate).encode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self._directory / "certificate.pem", self._directory / "key.pem")
        context.load_verify_locations(cadata=self.authority.authority.pem)
        context.verify_mode = ssl.CERT_REQUIRED
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_address[1]}"

    def put(self, data: bytes) -> str:
        """Offer a content; returns its digest."""
        self.contents[digests.of_bytes(data)] = data
        return digests.of_bytes(data)

    def put_entry(self, entry: str, catalog: bytes) -> str:
        """Offer the catalog of an entry point; returns its digest."""
        digest = digests.of_bytes(catalog)
        self.entries[digest, entry] = catalog
        return digest

    def put_secret(self, value: Any) -> dict[str, Any]:
        """Offer the value of a secret to every catalog; returns its reference."""
        data = canonical.encode(value)
        salt = hmac.digest(b"a key of the environment", data, "sha256")
        ref = make_reference(salt, data)
        self.secrets[ref] = SecretValue(ref, salt, data)
        return {"__ptype": REFERENCE, "__pvalue": ref}

    def values(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request for values of secrets: only the first, if they are many."""
        body = msgspec.json.decode(data, type=SecretsBody)
        self.asked.append(f"/v1/secrets {len(body.refs)}")
        self.before_secrets(body)
        served = digests.of_bytes(self.catalog)
        if body.catalog != served and (body.catalog, body.entry) not in self.entries:
            problem = {"status": 409, "detail": "another catalog is served", "code": "RELEASE-007"}
            return 409, {}, msgspec.json.encode(problem)
        found = [self.secrets[ref] for ref in body.refs][: self.values_at_once]
        return 200, {}, msgspec.json.encode(SecretValues(found))

    def pointer(self, entry: str = "", catalog: bytes | None = None) -> str:
        """The header with the signed pointer of the catalog, which is the released one, or that of an entry point."""
        digest = digests.of_bytes(self.catalog if catalog is None else catalog)
        given = ReleasePointer(
            self.name, digest, self.sequence, self.sequence, "production", "v1", datetime.now(UTC), entry
        )
        text = release_text(msgspec.structs.replace(given, **self.changes))
        signature = self.authority.authority.sign_document(signed_release_bytes(text))
        signed = SignedRelease(text, base64.b64encode(signature).decode())
        return base64.b64encode(msgspec.json.encode(signed)).decode()

    def answer(self, path: str, headers: Any) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request: status, headers and body."""
        self.asked.append(path)
        if path == "/v1/catalog":
            digest = digests.of_bytes(self.catalog)
            found = {"ETag": f'"{digest}"', HEADER: self.pointer()}
            known = headers.get("If-None-Match", "").strip('"') == digest
            return (304, found, b"") if known else (200, found, self.catalog)
        parts = urlsplit(path)
        entry = dict(parse_qsl(parts.query)).get("entry", "")
        catalog = self.entries.get((parts.path.removeprefix("/v1/entries/"), entry))
        if catalog is not None:
            return 200, {HEADER: self.pointer(entry, catalog)}, catalog
        if path.startswith(TASK_CONTENT) and self.problems:
            return self._next_problem()
        data = self.contents.get(path.removeprefix("/v1/content/").removeprefix(f"{TASK_CONTENT}/"))
        if data is None:
            problem = {"status": 404, "detail": "there is none", "code": "TEST-001"}
            return 404, {}, msgspec.json.encode(problem)
        begin = int(headers.get("Range", "bytes=0-")[6:-1])
        return (206 if begin else 200), {}, data[begin:]

    def store(self, path: str, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request to store content of a task."""
        self.asked.append(path)
        if self.problems:
            return self._next_problem()
        digest = self.put(data)
        if path != f"{TASK_CONTENT}/{digest}":
            return 400, {}, msgspec.json.encode({"status": 400, "detail": "another digest", "code": "TEST-002"})
        return 200, {}, msgspec.json.encode({"digest": digest, "size": len(data)})

    def _next_problem(self) -> tuple[int, dict[str, str], bytes]:
        problem = self.problems.pop(0)
        return problem["status"], {}, msgspec.json.encode(problem)


def _handler(server: CatalogServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*server.answer(self.path, self.headers))

        def do_POST(self) -> None:
            self._send(*server.values(self.rfile.read(int(self.headers["Content-Length"]))))

        def do_PUT(self) -> None:
            self._send(*server.store(self.path, self.rfile.read(int(self.headers["Content-Length"]))))

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    return Handler
