"""Amazon EC2, and services that imitate it. Version 2 of its service wants a token first; where there is none of that, version 1 is spoken.

It has two addresses, one of each family, and a machine may have a way to one of them only: both are asked at once, and the first to answer
counts. The instance id and what lies beside it are asked for together, the network when somebody wants it. All the rest, some fifty
questions, is asked only where a template in the user data could name it; credentials never are.
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
LEAF_DEADLINE_S = 3.0  # one that the service fails to give must not cost the others
_PLAIN = (b"#cloud-config", b"#!")
# What lets others act for the machine, and what lies elsewhere in another form.
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
    """`address` may be several, with commas between them."""

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
        client = await self._opened(access)
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

    async def _opened(self, access: MachineAccess) -> MetadataClient:
        """The first of the addresses that answers. Raises what the first of them raises if none does."""
        asking = [asyncio.ensure_future(self._tried(access, one)) for one in self.address.split(",")]
        try:
            for first in asyncio.as_completed(asking):
                with contextlib.suppress(PrecastError):
                    return await first
            return asking[0].result()  # which raises
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _tried(self, access: MachineAccess, address: str) -> MetadataClient:
        """With a token where the service has any. Raises UnavailableError BOOT-100 if nobody answers."""
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
    """A zone is its region and a letter; older services say the zone alone."""
    return zone[:-1] if zone[-1:].isalpha() and zone[-2:-1].isdigit() else ""


def _is_maybe_template(user_data: bytes | None) -> bool:
    """Whether a template may be in it: what is packed, has parts or is fetched from elsewhere is not known yet."""
    return bool(user_data) and not (user_data or b"").lstrip().startswith(_PLAIN)


async def _read_all(client: MetadataClient, known: dict[str, Any]) -> dict[str, Any]:
    """All that the service has; where it does not even list that, what is known already."""
    return await _Tree(client).read(META) or _nest(known)


class _Tree:
    """Everything below a path of the service, as maps in maps; so many questions and not more. What it does not answer is left out."""

    def __init__(self, client: MetadataClient) -> None:
        self._client = client
        self._left = MAX_QUESTIONS
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def read(self, path: str, depth: int = 0) -> dict[str, Any]:
        lines = [line.strip() for line in (await self._ask(f"{path}/") or "").splitlines() if line.strip()]
        names = [line for line in lines if line.strip("/") not in _SECRET and "=" not in line]
        found = await asyncio.gather(*(self._below(path, name, depth) for name in names))
        pairs = zip((name.rstrip("/") for name in names), found, strict=True)
        return {name: value for name, value in pairs if value is not None}

    async def _below(self, path: str, name: str, depth: int) -> Any:
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
    """Names with slashes as maps in maps, as templates name them."""
    found: dict[str, Any] = {}
    for path, value in meta.items():
        *above, name = path.split("/")
        here = found
        for part in above:
            here = here.setdefault(part, {})
        here[name] = value
    return found


async def _list_names(client: MetadataClient, path: str) -> list[str]:
    text = await client.text(path)
    return [line.strip() for line in (text or "").splitlines() if line.strip()][:MAX_NAMES]


async def _read_keys(client: MetadataClient) -> tuple[str, ...]:
    """The listing says `NUMBER=NAME`; each key lies below its number."""
    numbers = [line.partition("=")[0] for line in await _list_names(client, f"{META}/public-keys/")]
    paths = [f"{META}/public-keys/{quote_path_part(number)}/openssh-key" for number in numbers if number.isdigit()]
    return documents.read_keys("public-keys", list((await client.texts(paths)).values()))


async def _read_network(client: MetadataClient) -> dict[str, Any]:
    """The interfaces, each with what the network needs."""
    macs = [name.strip("/") for name in await _list_names(client, f"{META}/network/interfaces/macs/")]
    found = await asyncio.gather(*(_read_interface(client, mac) for mac in macs))
    where = client.url(f"{META}/network/interfaces/macs/")
    return await documents.convert_lazily(where, clouds.ec2, dict(zip(macs, found, strict=True)))()


async def _read_interface(client: MetadataClient, mac: str) -> dict[str, Any]:
    base = f"{META}/network/interfaces/macs/{quote_path_part(mac)}"
    names = [name for name in await _list_names(client, f"{base}/") if not name.endswith("/")]
    texts = await client.texts(f"{base}/{quote_path_part(name)}" for name in names)
    found = {path.removeprefix(f"{base}/"): text.splitlines() for path, text in texts.items()}
    return {name: lines[0] if len(lines) == 1 else lines for name, lines in found.items() if lines}
