"""Amazon EC2, and services that imitate it. Version 2 of its service requires a token; without tokens, version 1 is used.

It has two addresses, one per address family, and a machine may reach only one of them: both are asked concurrently, and the first answer
counts. The instance id and the basic values are requested together, the network on demand. The rest, about fifty requests, is fetched only
if a template in the user data may refer to it; credentials are never fetched.
"""

import asyncio
import contextlib
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents, issues
from precast.boot.sources.contract import DetectedSource, LazyValue, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataClient, MetadataSource, quote_path_part

TOKEN = "latest/api/token"  # noqa: S105 - a path
META = "latest/meta-data"
SECONDS = "21600"
MAX_NAMES = 200
MAX_QUESTIONS, MAX_DEPTH, AT_ONCE = 300, 8, 16
LEAF_DEADLINE_S = 3.0  # a value that the service does not deliver must not delay the others
_PLAIN = (b"#cloud-config", b"#!")
# Credentials, and values that are read elsewhere in another format.
_SECRET = frozenset({"security-credentials", "identity-credentials", "public-keys"})
_LEAVES = (
    "instance-id",
    "local-hostname",
    "hostname",
    "placement/availability-zone",
    "placement/region",
    "ami-launch-index",
    "mac",
)


class Ec2(MetadataSource):
    """`address` may be several addresses, separated by commas."""

    name = "ec2"
    address = "http://169.254.169.254,http://[fd00:ec2::254]"
    rank = 30
    capabilities = frozenset(
        {
            Capability.INSTANCE_ID,
            Capability.HOSTNAME,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.NETWORK_CONFIG,
            Capability.ZONE,
            Capability.REGION,
            Capability.PLATFORM,
            Capability.METADATA,
        }
    )

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        client = await self._connect_first(access)
        leaves, keys, user_data = await asyncio.gather(
            client.texts(f"{META}/{name}" for name in _LEAVES), _read_keys(client), client.get("latest/user-data")
        )
        meta: dict[str, Any] = {path.removeprefix(f"{META}/"): text for path, text in leaves.items()}
        if "instance-id" not in meta:
            return None
        values = documents.keep_known_values(
            client.url(META),
            {
                Capability.INSTANCE_ID: meta["instance-id"],
                Capability.HOSTNAME: meta.get("local-hostname") or meta.get("hostname"),
                Capability.ZONE: meta.get("placement/availability-zone"),
                Capability.REGION: meta.get("placement/region")
                or _derive_region(meta.get("placement/availability-zone", "")),
                Capability.PUBLIC_KEYS: keys,
                Capability.USER_DATA: user_data,
                Capability.PLATFORM: "ec2",
                Capability.METADATA: None if _is_maybe_template(user_data) else _nest(meta),
            },
        )
        later: dict[Capability, LazyValue] = {Capability.NETWORK_CONFIG: lambda: _read_network(client)}
        if Capability.METADATA not in values:
            later[Capability.METADATA] = lambda: _read_all(client, meta)
        return SourceData(client.base, values, later)

    async def _connect_first(self, access: MachineAccess) -> MetadataClient:
        """Return a client of the first address that answers. If none does, raises the error of the first address."""
        asking = [
            asyncio.ensure_future(self._connect_with_token(access, address)) for address in self.address.split(",")
        ]
        try:
            for first in asyncio.as_completed(asking):
                with contextlib.suppress(PrecastError):
                    return await first
            return asking[0].result()  # which raises
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _connect_with_token(self, access: MachineAccess, address: str) -> MetadataClient:
        """Return a client, with a token if the service issues one. Raises UnavailableError BOOT-100 without an answer."""
        plain = self.connect(access, base=address)
        where, headers = plain.url(TOKEN), {"X-aws-ec2-metadata-token-ttl-seconds": SECONDS}
        answer = await access.ask(where, method="PUT", headers=headers, retry_policy=plain.retry_policy)
        if answer.status != 200:
            return plain
        token = documents.read_name(where, documents.read_text(where, answer.body))
        if not token.isascii():
            raise issues.BAD_DOCUMENT.error(where=where, reason="a token is plain text")
        return plain.with_headers({"X-aws-ec2-metadata-token": token})


def _derive_region(zone: str) -> str:
    """Derive the region from a zone (region and a letter), for older services that only have the zone."""
    return zone[:-1] if zone[-1:].isalpha() and zone[-2:-1].isdigit() else ""


def _is_maybe_template(user_data: bytes | None) -> bool:
    """Whether user data may contain a template: the content of compressed, multipart or included data is not known yet."""
    return bool(user_data) and not (user_data or b"").lstrip().startswith(_PLAIN)


async def _read_all(client: MetadataClient, known: dict[str, Any]) -> dict[str, Any]:
    """Return all metadata of the service; if it cannot be listed, the known values."""
    return await _Tree(client).read(META) or _nest(known)


class _Tree:
    """Reads everything below a path as nested maps, with at most MAX_QUESTIONS requests. Values that cannot be fetched are left out."""

    def __init__(self, client: MetadataClient) -> None:
        self._client = client
        self._left = MAX_QUESTIONS
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def read(self, path: str, depth: int = 0) -> dict[str, Any]:
        lines = [line.strip() for line in (await self._ask(f"{path}/") or "").splitlines() if line.strip()]
        names = [line for line in lines if line.strip("/") not in _SECRET and "=" not in line]
        values = await asyncio.gather(*(self._read_below(path, name, depth) for name in names))
        pairs = zip((name.rstrip("/") for name in names), values, strict=True)
        return {name: value for name, value in pairs if value is not None}

    async def _read_below(self, path: str, name: str, depth: int) -> Any:
        below = f"{path}/{quote_path_part(name.rstrip('/'))}"
        if name.endswith("/"):
            return await self.read(below, depth + 1) if depth < MAX_DEPTH else None
        text = await self._ask(below)
        lines = (text or "").splitlines()
        return text if len(lines) < 2 else lines

    async def _ask(self, path: str) -> str | None:
        if self._left <= 0:
            return None
        self._left -= 1
        async with self._at_once:
            with contextlib.suppress(PrecastError, TimeoutError):
                async with asyncio.timeout(LEAF_DEADLINE_S):
                    return await self._client.text(path)
        return None


def _nest(meta: dict[str, Any]) -> dict[str, Any]:
    """Convert names with slashes to nested maps, as templates refer to them."""
    nested: dict[str, Any] = {}
    for path, value in meta.items():
        *above, name = path.split("/")
        here = nested
        for part in above:
            here = here.setdefault(part, {})
        here[name] = value
    return nested


async def _list_names(client: MetadataClient, path: str) -> list[str]:
    text = await client.text(path)
    return [line.strip() for line in (text or "").splitlines() if line.strip()][:MAX_NAMES]


async def _read_keys(client: MetadataClient) -> tuple[str, ...]:
    """Read the public keys: the listing has lines `NUMBER=NAME`, and each key is below its number."""
    numbers = [line.partition("=")[0] for line in await _list_names(client, f"{META}/public-keys/")]
    paths = [f"{META}/public-keys/{quote_path_part(number)}/openssh-key" for number in numbers if number.isdigit()]
    return documents.read_keys("public-keys", list((await client.texts(paths)).values()))


async def _read_network(client: MetadataClient) -> dict[str, Any]:
    """Read the metadata of all interfaces, and convert it."""
    macs = [name.strip("/") for name in await _list_names(client, f"{META}/network/interfaces/macs/")]
    interfaces = await asyncio.gather(*(_read_interface(client, mac) for mac in macs))
    where = client.url(f"{META}/network/interfaces/macs/")
    return await documents.convert_lazily(where, clouds.convert_ec2, dict(zip(macs, interfaces, strict=True)))()


async def _read_interface(client: MetadataClient, mac: str) -> dict[str, Any]:
    base = f"{META}/network/interfaces/macs/{quote_path_part(mac)}"
    names = [name for name in await _list_names(client, f"{base}/") if not name.endswith("/")]
    texts = await client.texts(f"{base}/{quote_path_part(name)}" for name in names)
    values = {path.removeprefix(f"{base}/"): text.splitlines() for path, text in texts.items()}
    return {name: lines[0] if len(lines) == 1 else lines for name, lines in values.items() if lines}
