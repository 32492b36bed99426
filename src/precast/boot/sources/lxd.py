"""LXD: reads the metadata from a socket inside the container or machine."""

import asyncio
from pathlib import Path

from precast.boot.capabilities import Capability
from precast.boot.sources import documents, nocloud
from precast.boot.sources.contract import DetectedSource, Evidence, Likelihood, MachineAccess, Plausibility, SourceData
from precast.boot.sources.metadata_service import MetadataClient, MetadataSource, quote_path_part

SOCKET = "/dev/lxd/sock"
CONFIG = "1.0/config"


class Lxd(MetadataSource):
    name = "lxd"
    address = f"unix://{SOCKET}:"
    rank = 70
    deadline_s = 5.0
    needs_network = False
    capabilities = frozenset(
        {
            Capability.INSTANCE_ID,
            Capability.HOSTNAME,
            Capability.PUBLIC_KEYS,
            Capability.USER_DATA,
            Capability.VENDOR_DATA,
            Capability.NETWORK_CONFIG,
            Capability.PLATFORM,
            Capability.METADATA,
        }
    )

    def likelihood(self, evidence: Evidence) -> Likelihood:
        if evidence.has_lxd or not self.address.startswith(f"unix://{SOCKET}"):
            return Likelihood(Plausibility.CONFIRMED, f"there is {SOCKET}")
        return Likelihood(Plausibility.RULED_OUT, f"there is no {SOCKET}")

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        client = self.connect(access)
        if self.address == Lxd.address and access.root != Path("/"):
            client.base = f"unix://{access.root}{SOCKET}:"
        data = await client.get("1.0/meta-data")
        if data is None:
            return None
        where = client.url("1.0/meta-data")
        meta = documents.read_map(where, data)
        config = await _read_config(client)
        values = documents.keep_known_values(
            where,
            {
                Capability.INSTANCE_ID: documents.read_name(f"instance-id in {where}", meta.get("instance-id")),
                Capability.HOSTNAME: meta.get("local-hostname"),
                Capability.PUBLIC_KEYS: documents.read_keys(f"public-keys in {where}", meta.get("public-keys")),
                Capability.USER_DATA: _find_setting(config, "user-data"),
                Capability.VENDOR_DATA: _find_setting(config, "vendor-data"),
                Capability.PLATFORM: "lxd",
                Capability.METADATA: meta,
            },
        )
        network = nocloud.make_network_config(f"network-config of {where}", _find_setting(config, "network-config"))
        return SourceData(f"socket {SOCKET}", values, network)


async def _read_config(client: MetadataClient) -> dict[str, bytes]:
    """Return the instance's cloud-init and user settings, by name."""
    data = await client.get(CONFIG)
    names = documents.expect(client.url(CONFIG), documents.read_json(client.url(CONFIG), data or b"[]"), list)
    keys = [name.rpartition("/")[2] for name in names if isinstance(name, str)]
    wanted = [key for key in keys if key.startswith(("cloud-init.", "user."))][:50]
    values = await asyncio.gather(*(client.get(f"{CONFIG}/{quote_path_part(key)}") for key in wanted))
    return {key: value for key, value in zip(wanted, values, strict=True) if value is not None}


def _find_setting(config: dict[str, bytes], name: str) -> bytes | None:
    """Return a setting by its newer name, or else by its older one."""
    return config.get(f"cloud-init.{name}") or config.get(f"user.{name}")
