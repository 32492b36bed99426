"""Commands that an action repeats: a standing seal is good for its action, its command, its node and its time, and for nothing else."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base.clock import ManualClock
from precast.services.identity.signer.messages import Command, Credential
from precast.wire.jobs.orders import ExecOrder
from tests.component.identity.signer_socket import SocketSite, serving
from tests.component.identity.test_compromised_server import refused

UPTIME = Command(["uptime", "-p"], 60.0, 1_000, "person:ann")
FOR = timedelta(days=7)


class Standing(NamedTuple):
    """An order of a repeated command as a server has it."""

    order: ExecOrder
    token: str
    sealed_until: datetime
    seal: bytes
    action: str

    async def sign(self, site: SocketSite) -> str:
        return await site.client.sign_order(*self)


async def standing(site: SocketSite, ann: Credential, *nodes: str, order: str = "job-1.1.1") -> Standing:
    """An order to web1 by the seal of the first of the nodes; without nodes by the one for any node."""
    until = site.clock.now() + FOR
    seal, *_ = await site.client.seal_standing("action-1", UPTIME, nodes, until, ann)
    now = site.clock.now()
    body = ExecOrder("web1", order, UPTIME.argv, now, now + timedelta(hours=1), 60.0, 1_000, UPTIME.why)
    return Standing(body, ann.record.id, until, seal, "action-1")


async def test_standing_seal_signs_every_order_of_its_action(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        ann = await site.person("commands")
        for nodes in (("web1",), ()):
            for job in ("job-1.1.1", "job-2.1.1"):
                assert await (await standing(site, ann, *nodes, order=job)).sign(site)
        line = site.log()[-2]
        assert (line.verb, line.by, line.detail["action"]) == ("seal_standing", "person:a commands", "action-1")


async def test_standing_seal_of_a_node_is_not_one_of_another(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        other = await standing(site, await site.person("commands"), "web2")
        assert "nobody has ordered" in await refused(site, other.sign(site))


async def test_standing_seal_is_only_for_its_command_token_action_and_time(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        real = await standing(site, await site.person("commands"))
        other = await site.person("commands")
        replace = msgspec.structs.replace
        changed = [
            real._replace(order=replace(real.order, argv=["reboot"])),
            real._replace(order=replace(real.order, timeout_s=61.0)),
            real._replace(order=replace(real.order, why="because")),
            real._replace(token=other.record.id),
            real._replace(action="action-2"),
            real._replace(action=""),
            real._replace(sealed_until=real.sealed_until + timedelta(days=1)),
        ]
        for attempt in changed:
            assert "nobody has ordered" in await refused(site, attempt.sign(site))
        assert await real.sign(site)


async def test_seal_of_an_order_is_not_a_standing_seal(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        ann, until = await site.person("commands"), site.clock.now() + FOR
        (seal,) = await site.client.seal_command("action-1", UPTIME, ["web1"], until, ann)
        real = await standing(site, ann)
        assert "nobody has ordered" in await refused(site, real._replace(seal=seal).sign(site))


async def test_standing_seal_ends_with_its_time_and_with_the_token(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, clock=clock) as site:
        ann = await site.person("commands")
        real = await standing(site, ann)
        late = msgspec.structs.replace(real.order, expires_at=real.sealed_until + timedelta(seconds=1))
        assert "earlier" in await refused(site, real._replace(order=late).sign(site))
        await site.client.revoke_token(ann.record.id)
        assert "revoked" in await refused(site, real.sign(site))
        clock.advance(FOR.total_seconds())
        assert "earlier" in await refused(site, real.sign(site))


async def test_standing_seal_needs_the_role_and_bounds(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        now, ann = site.clock.now(), await site.person("commands")
        for role in ("operator", "admin"):
            assert "is not commands" in await refused(site, standing(site, await site.person(role)))
        assert "of the whole site" in await refused(site, standing(site, await site.person("commands", ["production"])))
        seal = site.client.seal_standing
        for attempt in (
            seal("action-1", UPTIME, [], now + timedelta(days=32), ann),
            seal("action-1", UPTIME, [], now, ann),
            seal("", UPTIME, [], now + FOR, ann),
            seal("action-1", UPTIME, ["../web1"], now + FOR, ann),
            seal("action-1", msgspec.structs.replace(UPTIME, argv=[]), [], now + FOR, ann),
        ):
            await refused(site, attempt)
