"""Microsoft Azure: its metadata service, and what its provisioning left in a seed directory (ovf-env.xml), which may hold custom data."""

import re
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.network import clouds
from precast.boot.sources import documents
from precast.boot.sources.contract import Data, Found, Reach
from precast.boot.sources.visiting import Visited

PATH = "metadata/instance?api-version=2021-08-01&extended=true"
OVF = ("/var/lib/waagent/ovf-env.xml", "/var/lib/cloud/seed/azure/ovf-env.xml")
# The document is made by the platform; one element of it is of use, and no parser of XML is given what a stranger wrote.
_CUSTOM_DATA = re.compile(rb"<(?:\w+:)?CustomData>\s*([A-Za-z0-9+/=\s]*?)\s*</(?:\w+:)?CustomData>")


class Azure(Visited):
    name = "azure"
    address = "http://169.254.169.254"
    rank = 65
    deadline_s = 30.0  # it may need that long on a machine that was just made
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
        visit = self.visit(reach, {"Metadata": "true"})
        meta = await visit.json_map(PATH)
        if meta is None or not isinstance(meta.get("compute"), dict):
            return None
        where, compute = visit.url(PATH), meta["compute"]
        profile = documents.expect(f"osProfile in {where}", compute.get("osProfile") or {}, dict)
        rows = documents.expect(f"publicKeys in {where}", compute.get("publicKeys") or [], list)
        keys = [documents.expect(f"publicKeys in {where}", row, dict).get("keyData") for row in rows]
        values = documents.values_of(
            where,
            {
                Capability.INSTANCE_ID: documents.name_of(f"vmId in {where}", compute.get("vmId")).lower(),
                Capability.HOSTNAME: profile.get("computerName") or compute.get("name"),
                Capability.ZONE: compute.get("zone"),
                Capability.REGION: compute.get("location"),
                # Windows line ends come from keys that were pasted there.
                Capability.PUBLIC_KEYS: documents.keys_of(f"publicKeys in {where}", keys),
                Capability.USER_DATA: _custom_data(reach) or _user_data(where, compute),
                Capability.PLATFORM: "azure",
                Capability.METADATA: meta,
            },
        )
        network = documents.converted(where, clouds.azure, meta.get("network") or {})
        return Data(visit.base, values, {Capability.NETWORK_CONFIG: network})


def _user_data(where: str, compute: dict[str, Any]) -> bytes:
    return documents.bytes_of(f"userData in {where}", compute.get("userData") or "", "base64")


def _custom_data(reach: Reach) -> bytes | None:
    """Custom data wins over user data, as with Azure's own agent."""
    for path in OVF:
        found = _CUSTOM_DATA.search(reach.read(path, 1024 * 1024) or b"")
        if found:
            return documents.bytes_of(f"CustomData in {path}", found[1], "base64")
    return None
