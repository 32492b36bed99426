"""Hetzner Cloud: one YAML document, and user data at its own path."""

import asyncio
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import DetectedSource, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataSource


class Hetzner(MetadataSource):
    name = "hetzner"
    address = "http://169.254.169.254/hetzner/v1"
    rank = 58
    capabilities = frozenset(
        {
            Capability.INSTANCE_ID,
            Capability.HOSTNAME,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.VENDOR_DATA,
            Capability.NETWORK_CONFIG,
            Capability.ZONE,
            Capability.REGION,
            Capability.PLATFORM,
            Capability.METADATA,
        }
    )

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        client = self.connect(access)
        data = await client.get("metadata")
        if data is None:
            return None
        where = client.url("metadata")
        meta = documents.read_map(where, data)
        if "instance-id" not in meta:
            return None
        user_data, private = await asyncio.gather(client.get("userdata"), client.get("metadata/private-networks"))
        values = documents.keep_known_values(
            where,
            {
                Capability.INSTANCE_ID: meta["instance-id"],
                Capability.HOSTNAME: meta.get("hostname"),
                Capability.ZONE: meta.get("availability-zone"),
                Capability.REGION: meta.get("region"),
                Capability.PUBLIC_KEYS: documents.read_keys(f"public-keys in {where}", meta.get("public-keys")),
                Capability.USER_DATA: user_data,
                Capability.VENDOR_DATA: documents.decode_bytes(
                    f"vendor_data in {where}", meta.get("vendor_data") or ""
                ),
                Capability.PLATFORM: "hetzner",
                Capability.METADATA: meta,
            },
        )
        if not isinstance(meta.get("network-config"), dict):
            return SourceData(client.base, values)
        networks = documents.read_yaml(client.url("metadata/private-networks"), private) if private else []

        def convert(config: Any) -> dict[str, Any]:
            return clouds.convert_hetzner(config, networks or [])

        network = documents.convert_lazily(where, convert, meta["network-config"])
        return SourceData(client.base, values, {Capability.NETWORK_CONFIG: network})
