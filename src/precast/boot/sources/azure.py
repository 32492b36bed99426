"""Microsoft Azure: its metadata service, what its provisioning left beside it (see `azure_ovf`), and the fabric that wants to hear of it.

Each of the first two may know all that is needed: where the service does not answer in time, a provisioning document alone is believed. A
machine that says nothing to the fabric is marked as failed. So it says that it is ready, which a module asks for (the source cannot
know whether it is believed); or, where the firmware names Azure and nothing that was found makes sense, why not.
"""

import asyncio
import contextlib
from typing import Any

import msgspec

from precast.base.errors import InputError, PrecastError
from precast.boot.capabilities import Capability
from precast.boot.network.readers import clouds
from precast.boot.sources import azure_ovf, documents, issues
from precast.boot.sources.azure_fabric import ADDRESS, Fabric
from precast.boot.sources.azure_ovf import Provisioning
from precast.boot.sources.contract import Data, Found, Later, Reach
from precast.boot.sources.visiting import Visit, Visited, from_thread

PATH = "metadata/instance?api-version=2021-08-01&extended=true"
SERVICE_DEADLINE_S = 20.0
FAILURE_DEADLINE_S = 5.0


class Azure(Visited):
    """`address` is that of the metadata service; after a comma there may be that of the fabric."""

    name = "azure"
    address = f"http://169.254.169.254,{ADDRESS}"
    rank = 65
    deadline_s = 30.0  # it may need that long on a machine that was just made
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
            Capability.PASSWORD_GET,
            Capability.READY_POST,
            Capability.CERTIFICATES,
            Capability.PLATFORM,
            Capability.METADATA,
        }
    )

    def __init__(self, address: str = "") -> None:
        super().__init__(address)
        self.address, _, fabric = self.address.partition(",")
        self._fabric = fabric or ADDRESS

    async def find(self, reach: Reach) -> Found | None:
        visit = self.visit(reach, {"Metadata": "true"})
        fabric = Fabric(Visit(reach, self._fabric, visit.patience))
        try:
            return await self._find(reach, visit, fabric)
        except InputError as error:
            if visit.patience.keeps_asking:
                with contextlib.suppress(PrecastError, TimeoutError):
                    async with asyncio.timeout(FAILURE_DEADLINE_S):
                        await fabric.tell(error.message)
            raise

    async def _find(self, reach: Reach, visit: Visit, fabric: Fabric) -> Found | None:
        given = await azure_ovf.read(reach, has_disc=visit.patience.keeps_asking)
        try:
            async with asyncio.timeout(SERVICE_DEADLINE_S):
                meta = await visit.json_map(PATH)
        except TimeoutError:
            if given is None:
                raise issues.NO_ANSWER.error(
                    url=visit.url(PATH), reason=f"nothing for {SERVICE_DEADLINE_S:g} s"
                ) from None
            meta = None
        if meta is None and given is None:
            return None
        if meta is not None and not isinstance(meta.get("compute"), dict):
            return None
        where = visit.url(PATH)
        values = _values(where, meta or {}, given or Provisioning(), reach.evidence.dmi_value("product_uuid"))
        values[Capability.READY_POST] = from_thread(fabric.tell, fabric.url)
        later: dict[Capability, Later] = {Capability.CERTIFICATES: fabric.certificates}
        if meta is not None:
            later[Capability.NETWORK_CONFIG] = documents.converted(where, clouds.azure, meta.get("network") or {})
        return Data(visit.base if meta is not None else azure_ovf.NAME, values, later)


def _values(where: str, meta: dict[str, Any], given: Provisioning, number: str) -> dict[Capability, Any]:
    """The service's word, and provisioning's for what it does not say. Custom data wins over user data, as with Azure's own agent."""
    compute = meta.get("compute") or {}
    profile = documents.expect(f"osProfile in {where}", compute.get("osProfile") or {}, dict)
    rows = documents.expect(f"publicKeys in {where}", compute.get("publicKeys") or [], list)
    keys = [documents.expect(f"publicKeys in {where}", row, dict).get("keyData") for row in rows]
    user_data = documents.bytes_of(f"userData in {where}", compute.get("userData") or "", "base64")
    instance_id = compute.get("vmId") if meta else number
    return documents.values_of(
        where,
        {
            Capability.INSTANCE_ID: documents.name_of(f"vmId in {where}", instance_id).lower(),
            Capability.HOSTNAME: profile.get("computerName") or given.hostname or compute.get("name"),
            Capability.ZONE: compute.get("zone"),
            Capability.REGION: compute.get("location"),
            # Windows line ends come from keys that were pasted there.
            Capability.PUBLIC_KEYS: documents.keys_of(f"publicKeys in {where}", keys),
            Capability.USER_DATA: given.custom_data or user_data,
            Capability.VENDOR_DATA: _wishes(where, profile, given),
            Capability.PASSWORD_GET: given.password,
            Capability.PLATFORM: "azure",
            Capability.METADATA: meta,
        },
    )


def _wishes(where: str, profile: dict[str, Any], given: Provisioning) -> bytes:
    """What was chosen when the machine was made: the name of its user, and whether a password opens it. User data may say otherwise."""
    found: dict[str, Any] = {}
    user = documents.optional_name(f"adminUsername in {where}", profile.get("adminUsername")) or given.user
    if user:
        found["user"] = {"name": user}
    is_disabled = str(profile.get("disablePasswordAuthentication", "")).lower()
    if is_disabled in ("true", "false"):
        found["ssh_pwauth"] = is_disabled == "false"
    elif given.has_password_login is not None:
        found["ssh_pwauth"] = given.has_password_login
    return b"#cloud-config\n" + msgspec.json.encode(found) if found else b""
