"""Fuzz targets for what secret sources say: responses of a Vault, files on the server, requests of a compile worker."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from precast.base.clock import ManualClock
from precast.base.errors import UnavailableError
from precast.services.secrets.sources.configuration import SourceSettings
from precast.services.secrets.sources.documents import is_path
from precast.services.secrets.sources.files import FileSource
from precast.services.secrets.sources.source import Document
from precast.services.secrets.sources.vault import VaultReply, VaultSource
from tests.fuzz.target import FuzzTarget


def check_vault(data: bytes) -> None:
    """Whatever a Vault answers is a document, no document, or an error of ours; only a 404 of its own is no document."""
    status, body = 200 + (data[0] if data else 0), data[1:]

    async def reply(method: str, path: str, headers: Mapping[str, str], sent: bytes) -> VaultReply:
        if path.endswith("/login"):
            return VaultReply(200, b'{"auth": {"client_token": "t", "lease_duration": 60}}')
        return VaultReply(status, body)

    with tempfile.TemporaryDirectory() as directory:
        login = Path(directory) / "id"
        login.touch(0o600)
        login.write_text("x")
        files = {"role_id_file": str(login), "secret_id_file": str(login)}
        settings = SourceSettings("vault", {}, url="https://vault", **files)  # type: ignore[arg-type] # only these two
        source = VaultSource("vault", settings, reply, ManualClock())
        try:
            document = asyncio.run(source.read("production", "a/b"))
        except UnavailableError:
            return
    assert (document is None) == (status == 404)
    assert document is None or isinstance(document, Document)


def check_secret_file(data: bytes) -> None:
    """A file of secrets is a document, or refused with one error, which contains nothing of it."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "production" / "a.yaml"
        path.parent.mkdir(mode=0o700)
        path.touch(0o600)
        path.write_bytes(data)
        try:
            document = asyncio.run(FileSource("files", Path(directory)).read("production", "a"))
        except UnavailableError:
            return
    assert document is not None
    json.dumps(dict(document.fields))


def check_secret_path(data: bytes) -> None:
    """A path that is accepted leads nowhere but below the place where it begins."""
    path = data.decode("latin-1")
    if is_path(path):
        base = Path("/base")
        assert base in Path(f"/base/{path}").parents
        assert not {"..", ".", ""} & set(path.split("/"))


TARGETS = {
    "vault": FuzzTarget(
        check_vault,
        (
            b'\0{"data": {"data": {"a": "b"}, "metadata": {}}, "lease_duration": 0}',
            b'\xcc{"errors": []}',
            b'\xcc{"errors": ["no handler for route"]}',
            b"\0" + b"[" * 50,
        ),
        ("precast.services.secrets.sources.vault",),
    ),
    "secret-files": FuzzTarget(
        check_secret_file, (b"a: b\n", b"a: {b: [1, 2.5, null]}\n"), ("precast.services.secrets.sources.files",)
    ),
    "secret-paths": FuzzTarget(
        check_secret_path, (b"app/db", b"a/../b", b"./a", b"a//b"), ("precast.services.secrets.sources.documents",)
    ),
}
