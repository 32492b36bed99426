"""OpenStack's metadata service. It takes the password that was made for the machine, encrypted, by POST."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from precast.boot.capabilities import Capability
from precast.boot.sources import issues, openstack_data
from precast.boot.sources.contract import Found, Reach
from precast.boot.sources.visiting import Visit, Visited

PASSWORD = "openstack/2013-04-04/password"  # noqa: S105 - a path
POST_DEADLINE_S = 30.0


class OpenStack(Visited):
    name = "openstack"
    address = "http://169.254.169.254"
    rank = 40
    capabilities = openstack_data.OFFERED | {Capability.PASSWORD_POST}

    async def find(self, reach: Reach) -> Found | None:
        visit = self.visit(reach)
        path = f"{openstack_data.LATEST}/meta_data.json"
        meta = await visit.json_map(path)
        if meta is None:
            return None
        found = await openstack_data.read(visit.get, visit.base, visit.url(path), meta)
        return replace(found, values={**found.values, Capability.PASSWORD_POST: _poster(visit)})


def _poster(visit: Visit) -> Callable[[bytes], None]:
    """Tells the service a password, from any thread."""
    loop = asyncio.get_running_loop()

    def post(encrypted: bytes) -> None:
        status = asyncio.run_coroutine_threadsafe(visit.send(PASSWORD, encrypted), loop).result(POST_DEADLINE_S)
        if status >= 400:  # 409: there is one already, and it is never replaced
            raise issues.NO_ANSWER.error(url=visit.url(PASSWORD), reason=f"its status is {status}")

    return post
