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
from precast.boot.sources.contract import Data, Found, Later, Reach
from precast.boot.sources.visiting import Visit, Visited, path_part

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


class Ec2(Visited):
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

    async def find(self, reach: Reach) -> Found | None:
        visit = await self._opened(reach)
        leaves, keys, user_data = await asyncio.gather(
            visit.texts(f"{META}/{name}" for name in _LEAVES), _keys(visit), visit.get("latest/user-data")
        )
        meta: dict[str, Any] = {path.removeprefix(f"{META}/"): text for path, text in leaves.items()}
        if "instance-id" not in meta:
            return None
        values = documents.values_of(
            visit.url(META),
            {
                Capability.INSTANCE_ID: meta["instance-id"],
                Capability.HOSTNAME: meta.get("local-hostname") or meta.get("hostname"),
                Capability.ZONE: meta.get("placement/availability-zone"),
                Capability.REGION: meta.get("placement/region") or _region(meta.get("placement/availability-zone", "")),
                Capability.PUBLIC_KEYS: keys,
                Capability.USER_DATA: user_data,
                Capability.PLATFORM: "ec2",
                Capability.METADATA: None if _may_be_template(user_data) else _nested(meta),
            },
        )
        later: dict[Capability, Later] = {Capability.NETWORK_CONFIG: lambda: _network(visit)}
        if Capability.METADATA not in values:
            later[Capability.METADATA] = lambda: _everything(visit, meta)
        return Data(visit.base, values, later)

    async def _opened(self, reach: Reach) -> Visit:
        """The first of the addresses that answers. Raises what the first of them raises if none does."""
        asking = [asyncio.ensure_future(self._tried(reach, one)) for one in self.address.split(",")]
        try:
            for first in asyncio.as_completed(asking):
                with contextlib.suppress(PrecastError):
                    return await first
            return asking[0].result()  # which raises
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _tried(self, reach: Reach, address: str) -> Visit:
        """With a token where the service has any. Raises UnavailableError BOOT-100 if nobody answers."""
        plain = self.visit(reach, base=address)
        where, headers = plain.url(TOKEN), {"X-aws-ec2-metadata-token-ttl-seconds": SECONDS}
        answer = await reach.ask(where, method="PUT", headers=headers, patience=plain.patience)
        if answer.status != 200:
            return plain
        token = documents.name_of(where, documents.read_text(where, answer.body))
        if not token.isascii():
            raise issues.BAD_DOCUMENT.error(where=where, reason="a token is plain text")
        return plain.with_headers({"X-aws-ec2-metadata-token": token})


def _region(zone: str) -> str:
    """A zone is its region and a letter; older services say the zone alone."""
    return zone[:-1] if zone[-1:].isalpha() and zone[-2:-1].isdigit() else ""


def _may_be_template(user_data: bytes | None) -> bool:
    """Whether a template may be in it: what is packed, has parts or is fetched from elsewhere is not known yet."""
    return bool(user_data) and not (user_data or b"").lstrip().startswith(_PLAIN)


async def _everything(visit: Visit, known: dict[str, Any]) -> dict[str, Any]:
    """All that the service has; where it does not even list that, what is known already."""
    return await _Tree(visit).read(META) or _nested(known)


class _Tree:
    """Everything below a path of the service, as maps in maps; so many questions and not more. What it does not answer is left out."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._left = MAX_QUESTIONS
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def read(self, path: str, depth: int = 0) -> dict[str, Any]:
        lines = [line.strip() for line in (await self._ask(f"{path}/") or "").splitlines() if line.strip()]
        names = [line for line in lines if line.strip("/") not in _SECRET and "=" not in line]
        found = await asyncio.gather(*(self._below(path, name, depth) for name in names))
        pairs = zip((name.rstrip("/") for name in names), found, strict=True)
        return {name: value for name, value in pairs if value is not None}

    async def _below(self, path: str, name: str, depth: int) -> Any:
        below = f"{path}/{path_part(name.rstrip('/'))}"
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
                    return await self._visit.text(path)
        return None


def _nested(meta: dict[str, Any]) -> dict[str, Any]:
    """Names with slashes as maps in maps, as templates name them."""
    found: dict[str, Any] = {}
    for path, value in meta.items():
        *above, name = path.split("/")
        here = found
        for part in above:
            here = here.setdefault(part, {})
        here[name] = value
    return found


async def _listed(visit: Visit, path: str) -> list[str]:
    text = await visit.text(path)
    return [line.strip() for line in (text or "").splitlines() if line.strip()][:MAX_NAMES]


async def _keys(visit: Visit) -> tuple[str, ...]:
    """The listing says `NUMBER=NAME`; each key lies below its number."""
    numbers = [line.partition("=")[0] for line in await _listed(visit, f"{META}/public-keys/")]
    paths = [f"{META}/public-keys/{path_part(number)}/openssh-key" for number in numbers if number.isdigit()]
    return documents.keys_of("public-keys", list((await visit.texts(paths)).values()))


async def _network(visit: Visit) -> dict[str, Any]:
    """The interfaces, each with what the network needs."""
    macs = [name.strip("/") for name in await _listed(visit, f"{META}/network/interfaces/macs/")]
    found = await asyncio.gather(*(_interface(visit, mac) for mac in macs))
    where = visit.url(f"{META}/network/interfaces/macs/")
    return await documents.converted(where, clouds.ec2, dict(zip(macs, found, strict=True)))()


async def _interface(visit: Visit, mac: str) -> dict[str, Any]:
    base = f"{META}/network/interfaces/macs/{path_part(mac)}"
    names = [name for name in await _listed(visit, f"{base}/") if not name.endswith("/")]
    texts = await visit.texts(f"{base}/{path_part(name)}" for name in names)
    found = {path.removeprefix(f"{base}/"): text.splitlines() for path, text in texts.items()}
    return {name: lines[0] if len(lines) == 1 else lines for name, lines in found.items() if lines}
