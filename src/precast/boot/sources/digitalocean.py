"""DigitalOcean: one document has everything."""

from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import Data, Found, Reach
from precast.boot.sources.visiting import Visited

PATH = "metadata/v1.json"


class DigitalOcean(Visited):
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

    async def find(self, reach: Reach) -> Found | None:
        visit = self.visit(reach)
        meta = await visit.json_map(PATH)
        if meta is None or "droplet_id" not in meta:
            return None
        where = visit.url(PATH)
        values = documents.values_of(
            where,
            {
                Capability.INSTANCE_ID: meta["droplet_id"],
                Capability.HOSTNAME: meta.get("hostname"),
                Capability.REGION: meta.get("region"),
                Capability.PUBLIC_KEYS: documents.keys_of(f"public_keys in {where}", meta.get("public_keys")),
                Capability.USER_DATA: documents.bytes_of(f"user_data in {where}", meta.get("user_data") or ""),
                Capability.VENDOR_DATA: documents.bytes_of(f"vendor_data in {where}", meta.get("vendor_data") or ""),
                Capability.PLATFORM: "digitalocean",
                Capability.METADATA: meta,
            },
        )
        return Data(
            visit.base, values, {Capability.NETWORK_CONFIG: documents.converted(where, clouds.digitalocean, meta)}
        )
