"""OpenStack's metadata service. It accepts the machine's generated password, encrypted, by POST."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from precast.boot.capabilities import Capability
from precast.boot.sources import issues, openstack_data
from precast.boot.sources.contract import DetectedSource, MachineAccess
from precast.boot.sources.metadata_service import MetadataClient, MetadataSource, make_thread_safe

PASSWORD = "openstack/2013-04-04/password"  # noqa: S105 - a path


class OpenStack(MetadataSource):
    name = "openstack"
    address = "http://169.254.169.254"
    rank = 40
    capabilities = openstack_data.OFFERED | {Capability.PASSWORD_POST}

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        client = self.connect(access)
        path = f"{openstack_data.LATEST}/meta_data.json"
        meta = await client.json_map(path)
        if meta is None:
            return None
        data = await openstack_data.read(client.get, client.base, client.url(path), meta)
        return replace(data, values={**data.values, Capability.PASSWORD_POST: _make_password_sender(client)})


def _make_password_sender(client: MetadataClient) -> Callable[[bytes], None]:
    """Return a function that sends an encrypted password to the service, from any thread."""

    async def send(encrypted: bytes) -> None:
        status = await client.send(PASSWORD, encrypted)
        if status == HTTPStatus.CONFLICT:
            raise issues.HAS_PASSWORD.error(url=client.url(PASSWORD))
        if status >= 400:
            raise issues.NOT_TOLD.error(url=client.url(PASSWORD), what="a password", status=status)

    return make_thread_safe(send, client.url(PASSWORD))
