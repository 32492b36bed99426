"""Google Compute Engine. Its service sends the header `Metadata-Flavor: Google` in every response, and requires it in every request."""

import asyncio
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents, issues
from precast.boot.sources.contract import DetectedSource, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataSource

INTERFACES = "instance/network-interfaces/?recursive=true"
FLAVOR = "metadata-flavor"
# Keys are `USER:KEY`; we use only those of the images' default users. Google's own agent installs the others.
USERS = frozenset({"cloudinit", "debian", "ubuntu", "root"})


class Gce(MetadataSource):
    name = "gce"
    address = "http://metadata.google.internal/computeMetadata/v1"
    rank = 60
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
        client = self.connect(access, {"Metadata-Flavor": "Google"})
        first = await access.ask(client.url("instance/id"), headers=client.headers, retry_policy=client.retry_policy)
        if first.status != 200 or first.headers.get(FLAVOR) != "Google":
            return None
        rest, instance, project = await asyncio.gather(
            client.texts(["instance/hostname", "instance/zone"]),
            client.json_map("instance/attributes/?recursive=true"),
            client.json_map("project/attributes/?recursive=true"),
        )
        attributes, shared = instance or {}, project or {}
        zone = rest.get("instance/zone", "").rpartition("/")[2]
        where = client.base
        values = documents.keep_known_values(
            where,
            {
                Capability.INSTANCE_ID: documents.read_text(where, first.body),
                Capability.HOSTNAME: rest.get("instance/hostname"),
                Capability.ZONE: zone,
                Capability.REGION: zone.rpartition("-")[0],
                Capability.USER_DATA: _decode_user_data(where, attributes),
                Capability.PUBLIC_KEYS: _find_keys(where, attributes, shared),
                Capability.PLATFORM: "gce",
                Capability.METADATA: {"attributes": attributes, **rest},
            },
        )

        async def network() -> dict[str, Any]:
            place = client.url(INTERFACES)
            data = await client.get(INTERFACES)
            interfaces = documents.expect(place, documents.read_json(place, data or b"[]"), list)
            return await documents.convert_lazily(place, clouds.convert_gce, interfaces)()

        return SourceData(where, values, {Capability.NETWORK_CONFIG: network})


def _decode_user_data(where: str, attributes: dict[str, Any]) -> bytes | None:
    given = attributes.get("user-data")
    if given is None:
        return None
    encoding = attributes.get("user-data-encoding", "")
    return documents.decode_bytes(
        f"user-data of {where}", given, documents.expect(f"user-data-encoding of {where}", encoding, str)
    )


def _find_keys(where: str, attributes: dict[str, Any], shared: dict[str, Any]) -> tuple[str, ...]:
    """Return the instance's own keys, and the project's unless the instance blocks them."""
    is_blocked = str(attributes.get("block-project-ssh-keys", "")).lower() == "true"
    lines: list[str] = []
    for each in (attributes, {} if is_blocked else shared):
        for name in ("ssh-keys", "sshKeys"):
            lines += documents.read_keys(f"{name} of {where}", each.get(name))
    split = [line.partition(":") for line in lines]
    if any(not colon for _, colon, _ in split):
        raise issues.BAD_DOCUMENT.error(where=f"ssh-keys of {where}", reason="a line is not USER:KEY")
    return tuple(dict.fromkeys(key.strip() for user, _, key in split if user in USERS and "google-ssh" not in key))
