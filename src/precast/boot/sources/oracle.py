"""Oracle Cloud: version 2 of its service wants to be addressed as Oracle's; version 1 has the same documents."""

import base64
import binascii
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import Data, Found, Reach
from precast.boot.sources.visiting import Visit, Visited


class Oracle(Visited):
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

    async def find(self, reach: Reach) -> Found | None:
        for version, headers in (("v2", {"Authorization": "Bearer Oracle"}), ("v1", {})):
            visit = self.visit(reach, headers)
            meta = await visit.json_map(f"{version}/instance/")
            if meta is not None:
                return await _read(visit, version, meta) if "id" in meta else None
        return None


async def _read(visit: Visit, version: str, meta: dict[str, Any]) -> Data:
    where = visit.url(f"{version}/instance/")
    given = documents.expect(f"metadata in {where}", meta.get("metadata") or {}, dict)
    values = documents.values_of(
        where,
        {
            Capability.INSTANCE_ID: meta["id"],
            Capability.HOSTNAME: meta.get("hostname") or meta.get("displayName"),
            Capability.ZONE: meta.get("ociAdName") or meta.get("availabilityDomain"),
            Capability.REGION: meta.get("canonicalRegionName") or meta.get("region"),
            Capability.PUBLIC_KEYS: documents.keys_of(
                f"ssh_authorized_keys in {where}", given.get("ssh_authorized_keys")
            ),
            Capability.USER_DATA: _user_data(where, given),
            Capability.PLATFORM: "oracle",
            Capability.METADATA: meta,
        },
    )

    async def network() -> dict[str, Any]:
        place = visit.url(f"{version}/vnics/")
        data = await visit.get(f"{version}/vnics/")
        vnics = documents.expect(place, documents.read_json(place, data or b"[]"), list)
        return await documents.converted(place, clouds.oracle, vnics)()

    return Data(visit.base, values, {Capability.NETWORK_CONFIG: network})


def _user_data(where: str, given: dict[str, Any]) -> bytes:
    """It is in base64, as the console sends it; what is not was sent as it is by somebody's own tool."""
    data = documents.bytes_of(f"user_data in {where}", given.get("user_data") or "")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data
