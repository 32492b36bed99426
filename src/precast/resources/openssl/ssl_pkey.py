"""ssl_pkey: a private key, created once. A new key can be read by root alone; the module leaves it readable for everyone."""

from collections.abc import Sequence
from typing import Any, Final

from precast.resources import properties
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import parameters, safe_reads, small_files
from precast.resources.properties import ABSENT, PRESENT
from precast.resources.text_files import as_owner

_MODE: Final = 0o600
_SIZES: Final = range(1024, 16385)


class SslPkey(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._path = parameters.path_of(resource)
        self.ensure = properties.one_of(resource, "ensure", (PRESENT, ABSENT))
        self._kind = properties.one_of(resource, "authentication", ("rsa", "dsa")) or "rsa"
        size = properties.number(resource, "size")
        self._size = 2048 if size is None else size
        if self._size not in _SIZES:
            raise properties.invalid_value(resource, "size", size, "1024 to 16384")
        password = resource.get("password")
        self._password = None if password is None else str(password).encode()

    def read(self) -> State:
        is_there = safe_reads.exists(safe_reads.node_parents(self.node), self._path)
        return {"ensure": PRESENT if is_there else ABSENT}

    def compare(self, state: State) -> Sequence[Change]:
        if self.ensure is None or state["ensure"] == self.ensure:
            return ()
        return (Change("ensure", state["ensure"], self.ensure, "removed" if self.ensure == ABSENT else "created"),)

    def apply(self, change: Change) -> None:
        if change.desired == ABSENT:
            small_files.remove_file(self.node, self._path)
        else:
            pem = _make_key(self._kind, self._size, self._password)
            small_files.replace_content(self.node, self._path, pem, None, _MODE, as_owner((0, 0)))


def _make_key(kind: str, size: int, password: bytes | None) -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import dsa, rsa

    key: Any = rsa.generate_private_key(65537, size) if kind == "rsa" else dsa.generate_private_key(size)
    protection = serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password)
    data: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, protection
    )
    return data
