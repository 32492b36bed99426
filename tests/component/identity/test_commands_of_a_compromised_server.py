"""A server that an attacker has taken over cannot send commands: the signer signs an order only if a person has ordered its command."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base.clock import ManualClock
from precast.services.identity.signer.local import state_directory
from precast.services.identity.signer.messages import Command, Credential
from precast.services.identity.signer.signer_log import verify
from precast.services.identity.signer.state import SignerState
from precast.wire.jobs.orders import ExecOrder
from tests.component.identity.signer_socket import SocketSite, serving
from tests.component.identity.test_compromised_server import refused

UPTIME = Command(["uptime", "-p"], 60.0, 1_000, "person:ann")
FOR = timedelta(minutes=5)


class Ordered(NamedTuple):
    """A command as the server has it in its database, after a person has ordered it."""

    order: ExecOrder
    token: str
    sealed_until: datetime
    seal: bytes

    async def sign(self, site: SocketSite) -> str:
        return await site.client.sign_order(*self)


async def ordered(site: SocketSite, ann: Credential, node: str = "web1", command: Command = UPTIME) -> Ordered:
    until = site.clock.now() + FOR
    (seal,) = await site.client.seal_command("run-1", command, [node], until, ann)
    now = site.clock.now()
    order = ExecOrder(node, "run-1", command.argv, now, until, command.timeout_s, command.output_bytes, command.why)
    return Ordered(order, ann.record.id, until, seal)


async def test_order_that_nobody_ordered_is_not_signed(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        now = site.clock.now()
        order = ExecOrder("web1", "run-1", ["uptime"], now, now + FOR, 60.0, 1_000)
        ann = await site.person("commands")
        for seal in (b"", bytes(32), ann.seal):
            attempt = Ordered(order, ann.record.id, now + FOR, seal)
            assert "nobody has ordered" in await refused(site, attempt.sign(site))
        policy = await site.client.seal_policies(["web1"], "always", [], 0, await site.person("operator"))
        attempt = Ordered(order, ann.record.id, now + FOR, policy.seals[0])
        assert "nobody has ordered" in await refused(site, attempt.sign(site))


async def test_order_that_differs_from_the_ordered_command_is_not_signed(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        real = await ordered(site, await site.person("commands"))
        other = await site.person("commands")
        replace = msgspec.structs.replace
        changed = {
            "argv": replace(real.order, argv=["rm", "-rf", "/"]),
            "more": replace(real.order, argv=[*real.order.argv, "-x"]),
            "joined": replace(real.order, argv=["uptime -p"]),
            "node": replace(real.order, node="db1"),
            "id": replace(real.order, order="run-2"),
            "timeout": replace(real.order, timeout_s=6_000.0),
            "output": replace(real.order, output_bytes=10_000_000),
            "why": replace(real.order, why="person:boss"),
        }
        for order in changed.values():
            assert "nobody has ordered" in await refused(site, real._replace(order=order).sign(site))
        for forged in (
            real._replace(token=other.record.id),
            real._replace(sealed_until=real.sealed_until + timedelta(days=1)),
            real._replace(seal=bytes(reversed(real.seal))),
        ):
            assert "nobody has ordered" in await refused(site, forged.sign(site))
        assert await real.sign(site)
        assert await real.sign(site), "a server that takes the job over asks again"
        line = site.log()[-1]
        assert (line.verb, line.outcome, line.subject) == ("sign_order", "signed", "web1")
        assert line.detail["token"] == real.token


async def test_seal_of_one_node_is_not_one_of_another(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        ann, until = await site.person("commands"), site.clock.now() + FOR
        web1, web2 = await site.client.seal_command("run-1", UPTIME, ["web1", "web2"], until, ann)
        order = ExecOrder("web1", "run-1", UPTIME.argv, site.clock.now(), until, 60.0, 1_000, UPTIME.why)
        assert "nobody" in await refused(site, Ordered(order, ann.record.id, until, web2).sign(site))
        assert await Ordered(order, ann.record.id, until, web1).sign(site)


async def test_order_is_not_signed_after_the_command_has_expired(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, clock=clock) as site:
        real = await ordered(site, await site.person("commands"))
        later = msgspec.structs.replace(real.order, expires_at=real.sealed_until + timedelta(seconds=1))
        assert "earlier" in await refused(site, real._replace(order=later).sign(site))
        assert await real.sign(site)
        clock.advance(FOR.total_seconds())
        assert "earlier" in await refused(site, real.sign(site))
        assert "earlier" in await refused(site, real._replace(order=later).sign(site))


async def test_command_is_sealed_only_for_a_person_with_the_role(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        until = site.clock.now() + FOR
        viewer, ann = await site.person("viewer"), await site.person("commands")
        risen = Credential(viewer.token, msgspec.structs.replace(viewer.record, role="commands"), viewer.seal)
        stolen = Credential(viewer.token, ann.record, ann.seal)
        attempts = [
            ("nobody approved it", None),
            ("is not commands", viewer),
            ("is not commands", await site.person("operator")),
            ("is not commands", await site.person("admin")),
            ("of the whole site", await site.person("commands", ["production"])),
            ("not sealed", risen),
            ("not the one of its record", stolen),
        ]
        for reason, credential in attempts:
            attempt = site.client.seal_command("run-1", UPTIME, ["web1"], until, credential)
            assert reason in await refused(site, attempt)
        await site.client.seal_command("run-1", UPTIME, ["web1"], until, ann)
        line = site.log()[-1]
        assert (line.by, line.detail["argv"], line.detail["order"]) == ("person:a commands", "uptime -p", "run-1")
        assert ann.token.split(".")[2].encode() not in (tmp_path / "signer/log.jsonl").read_bytes()
        assert verify(tmp_path / "signer/log.jsonl").lines == len(site.log())


async def test_expired_or_revoked_token_orders_nothing_and_what_it_has_ordered_ends(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, clock=clock) as site:
        ann, brief = await site.person("commands"), await site.person("commands", valid_s=10)
        of_ann, of_brief = await ordered(site, ann), await ordered(site, brief)
        clock.advance(10)
        assert "expired" in await refused(site, ordered(site, brief))
        assert await of_brief.sign(site), "a command outlasts the token by which it was ordered"
        await site.client.revoke_token(ann.record.id)
        assert "revoked" in await refused(site, ordered(site, ann))
        assert "revoked" in await refused(site, of_ann.sign(site))
        # The journal is on the disk: another signer of the directory knows it too.
        state = SignerState(state_directory(site.files))
        with state.locked():
            assert state.tokens.is_revoked(ann.record.id)


async def test_command_without_bounds_is_not_sealed(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        ann, now = await site.person("commands"), site.clock.now()
        nothing = msgspec.structs.replace(UPTIME, argv=[])
        attempts = (
            site.client.seal_command("run-1", UPTIME, ["web1"], now + timedelta(days=32), ann),
            site.client.seal_command("run-1", UPTIME, ["web1"], now, ann),
            site.client.seal_command("run-1", UPTIME, [], now + FOR, ann),
            site.client.seal_command("run-1", UPTIME, ["../web1"], now + FOR, ann),
            site.client.seal_command("run-1", UPTIME, [f"web{number}" for number in range(1_001)], now + FOR, ann),
            site.client.seal_command("run-1", nothing, ["web1"], now + FOR, ann),
        )
        for attempt in attempts:
            assert "invalid" in await refused(site, attempt)


async def test_limits_bound_how_many_orders_are_signed(tmp_path: Path) -> None:
    async with serving(tmp_path, per_minute={"sign_order": 2, "seal_command": 1}) as site:
        real = await ordered(site, await site.person("commands"))
        assert "limit for seal_command" in await refused(site, ordered(site, await site.person("commands")))
        await real.sign(site)
        await real.sign(site)
        assert "limit for sign_order" in await refused(site, real.sign(site))
