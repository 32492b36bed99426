"""OpenStack's metadata service. It takes the password that was made for the machine, encrypted, by POST."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from precast.boot.capabilities import Capability
from precast.boot.sources import issues, openstack_data
from precast.boot.sources.contract import Found, Reach
from precast.boot.sources.visiting import Visit, Visited, from_thread

PASSWORD = "openstack/2013-04-04/password"  # noqa: S105 - a path


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

    async def send(encrypted: bytes) -> None:
        status = await visit.send(PASSWORD, encrypted)
        if status == HTTPStatus.CONFLICT:
            raise issues.HAS_PASSWORD.error(url=visit.url(PASSWORD))
        if status >= 400:
            raise issues.NOT_TOLD.error(url=visit.url(PASSWORD), what="a password", status=status)

    return from_thread(send, visit.url(PASSWORD))
