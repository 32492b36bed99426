"""DigitalOcean: one document contains all metadata."""

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import DetectedSource, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataSource

PATH = "metadata/v1.json"


class DigitalOcean(MetadataSource):
    name = "digitalocean"
    address = "http://169.254.169.254"
    rank = 59
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
        client = self.connect(access)
        meta = await client.json_map(PATH)
        if meta is None or "droplet_id" not in meta:
            return None
        where = client.url(PATH)
        values = documents.keep_known_values(
            where,
            {
                Capability.INSTANCE_ID: meta["droplet_id"],
                Capability.HOSTNAME: meta.get("hostname"),
                Capability.REGION: meta.get("region"),
                Capability.PUBLIC_KEYS: documents.read_keys(f"public_keys in {where}", meta.get("public_keys")),
                Capability.USER_DATA: documents.decode_bytes(f"user_data in {where}", meta.get("user_data") or ""),
                Capability.VENDOR_DATA: documents.decode_bytes(
                    f"vendor_data in {where}", meta.get("vendor_data") or ""
                ),
                Capability.PLATFORM: "digitalocean",
                Capability.METADATA: meta,
            },
        )
        return SourceData(
            client.base,
            values,
            {Capability.NETWORK_CONFIG: documents.convert_lazily(where, clouds.convert_digitalocean, meta)},
        )
