"""Vultr: one document contains all metadata."""

from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import DetectedSource, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataSource

PATH = "v1.json"


class Vultr(MetadataSource):
    name = "vultr"
    address = "http://169.254.169.254"
    rank = 56
    capabilities = frozenset(
        {
            Capability.INSTANCE_ID,
            Capability.HOSTNAME,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.VENDOR_DATA,
            Capability.NETWORK_CONFIG,
            Capability.REGION,
            Capability.PLATFORM,
            Capability.METADATA,
        }
    )

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        client = self.connect(access, {"Metadata-Token": "cloudinit"})
        meta = await client.json_map(PATH)
        if meta is None or not (meta.get("instance-v2-id") or meta.get("instanceid")):
            return None
        where = client.url(PATH)
        region = meta.get("region")
        values = documents.keep_known_values(
            where,
            {
                Capability.INSTANCE_ID: meta.get("instance-v2-id") or meta.get("instanceid"),
                Capability.HOSTNAME: meta.get("local-hostname") or meta.get("hostname"),
                Capability.REGION: region.get("regioncode") if isinstance(region, dict) else None,
                Capability.PUBLIC_KEYS: documents.read_keys(f"public-keys in {where}", meta.get("public-keys")),
                Capability.USER_DATA: _read_data(where, "user-data", meta),
                Capability.VENDOR_DATA: _read_data(where, "vendor-data", meta),
                Capability.PLATFORM: "vultr",
                Capability.METADATA: meta,
            },
        )
        network = documents.convert_lazily(where, clouds.convert_vultr, meta.get("interfaces") or [])
        return SourceData(client.base, values, {Capability.NETWORK_CONFIG: network})


def _read_data(where: str, name: str, meta: dict[str, Any]) -> bytes:
    """Return a text as bytes; the service has an empty list instead of a missing text."""
    return documents.decode_bytes(f"{name} in {where}", meta.get(name) or "")
