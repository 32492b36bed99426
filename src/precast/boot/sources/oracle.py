"""Oracle Cloud: version 2 of its service requires an Authorization header; version 1 has the same documents."""

import base64
import binascii
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import DetectedSource, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataClient, MetadataSource


class Oracle(MetadataSource):
    name = "oracle"
    address = "http://169.254.169.254/opc"
    rank = 57
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
        for version, headers in (("v2", {"Authorization": "Bearer Oracle"}), ("v1", {})):
            client = self.connect(access, headers)
            meta = await client.json_map(f"{version}/instance/")
            if meta is not None:
                return await _read(client, version, meta) if "id" in meta else None
        return None


async def _read(client: MetadataClient, version: str, meta: dict[str, Any]) -> SourceData:
    where = client.url(f"{version}/instance/")
    given = documents.expect(f"metadata in {where}", meta.get("metadata") or {}, dict)
    values = documents.keep_known_values(
        where,
        {
            Capability.INSTANCE_ID: meta["id"],
            Capability.HOSTNAME: meta.get("hostname") or meta.get("displayName"),
            Capability.ZONE: meta.get("ociAdName") or meta.get("availabilityDomain"),
            Capability.REGION: meta.get("canonicalRegionName") or meta.get("region"),
            Capability.PUBLIC_KEYS: documents.read_keys(
                f"ssh_authorized_keys in {where}", given.get("ssh_authorized_keys")
            ),
            Capability.USER_DATA: _decode_user_data(where, given),
            Capability.PLATFORM: "oracle",
            Capability.METADATA: meta,
        },
    )

    async def network() -> dict[str, Any]:
        place = client.url(f"{version}/vnics/")
        data = await client.get(f"{version}/vnics/")
        vnics = documents.expect(place, documents.read_json(place, data or b"[]"), list)
        return await documents.convert_lazily(place, clouds.convert_oracle, vnics)()

    return SourceData(client.base, values, {Capability.NETWORK_CONFIG: network})


def _decode_user_data(where: str, given: dict[str, Any]) -> bytes:
    """Decode user data: the console sends it in base64, but other tools may send it unencoded."""
    data = documents.decode_bytes(f"user_data in {where}", given.get("user_data") or "")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data
