"""Microsoft Azure: its metadata service, its provisioning document (see `azure_ovf`), and the fabric, which expects a status report.

Either of the first two may have all data: if the service does not answer in time, a provisioning document alone is enough. Azure marks a
machine that does not report to the fabric as failed. A module triggers the report that the machine is ready, since the source does not
know whether it is trusted; if the firmware names Azure and the data is invalid, the source reports the failure itself.
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
from precast.boot.sources.contract import DetectedSource, LazyValue, MachineAccess, SourceData
from precast.boot.sources.metadata_service import MetadataClient, MetadataSource, make_thread_safe

PATH = "metadata/instance?api-version=2021-08-01&extended=true"
SERVICE_DEADLINE_S = 20.0
FAILURE_DEADLINE_S = 5.0


class Azure(MetadataSource):
    """`address` is the metadata service's, optionally followed by a comma and the fabric's."""

    name = "azure"
    address = f"http://169.254.169.254,{ADDRESS}"
    rank = 65
    deadline_s = 30.0  # the service may take that long on a new machine
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

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        client = self.connect(access, {"Metadata": "true"})
        fabric = Fabric(MetadataClient(access, self._fabric, client.retry_policy))
        try:
            return await self._find(access, client, fabric)
        except InputError as error:
            if client.retry_policy.is_retried:
                with contextlib.suppress(PrecastError, TimeoutError):
                    async with asyncio.timeout(FAILURE_DEADLINE_S):
                        await fabric.report(error.message)
            raise

    async def _find(self, access: MachineAccess, client: MetadataClient, fabric: Fabric) -> DetectedSource | None:
        given = await azure_ovf.read(access, has_disc=client.retry_policy.is_retried)
        try:
            async with asyncio.timeout(SERVICE_DEADLINE_S):
                meta = await client.json_map(PATH)
        except TimeoutError:
            if given is None:
                raise issues.NO_ANSWER.error(
                    url=client.url(PATH), reason=f"nothing for {SERVICE_DEADLINE_S:g} s"
                ) from None
            meta = None
        if meta is None and given is None:
            return None
        if meta is not None and not isinstance(meta.get("compute"), dict):
            return None
        where = client.url(PATH)
        values = _make_values(where, meta or {}, given or Provisioning(), access.evidence.dmi_value("product_uuid"))
        values[Capability.READY_POST] = make_thread_safe(fabric.report, fabric.url)
        later: dict[Capability, LazyValue] = {Capability.CERTIFICATES: fabric.certificates}
        if meta is not None:
            later[Capability.NETWORK_CONFIG] = documents.convert_lazily(
                where, clouds.convert_azure, meta.get("network") or {}
            )
        return SourceData(client.base if meta is not None else azure_ovf.NAME, values, later)


def _make_values(where: str, meta: dict[str, Any], given: Provisioning, number: str) -> dict[Capability, Any]:
    """Return the service's values, with gaps filled from provisioning. Custom data overrides user data, as with Azure's own agent."""
    compute = meta.get("compute") or {}
    profile = documents.expect(f"osProfile in {where}", compute.get("osProfile") or {}, dict)
    rows = documents.expect(f"publicKeys in {where}", compute.get("publicKeys") or [], list)
    keys = [documents.expect(f"publicKeys in {where}", row, dict).get("keyData") for row in rows]
    user_data = documents.decode_bytes(f"userData in {where}", compute.get("userData") or "", "base64")
    instance_id = compute.get("vmId") if meta else number
    return documents.keep_known_values(
        where,
        {
            Capability.INSTANCE_ID: documents.read_name(f"vmId in {where}", instance_id).lower(),
            Capability.HOSTNAME: profile.get("computerName") or given.hostname or compute.get("name"),
            Capability.ZONE: compute.get("zone"),
            Capability.REGION: compute.get("location"),
            # Keys that were pasted in Azure's portal may have Windows line ends.
            Capability.PUBLIC_KEYS: documents.read_keys(f"publicKeys in {where}", keys),
            Capability.USER_DATA: given.custom_data or user_data,
            Capability.VENDOR_DATA: _make_vendor_data(where, profile, given),
            Capability.PASSWORD_GET: given.password,
            Capability.PLATFORM: "azure",
            Capability.METADATA: meta,
        },
    )


def _make_vendor_data(where: str, profile: dict[str, Any], given: Provisioning) -> bytes:
    """Return the choices made when the machine was created, the user's name and password login, as vendor data that user data overrides."""
    config: dict[str, Any] = {}
    user = documents.read_optional_name(f"adminUsername in {where}", profile.get("adminUsername")) or given.user
    if user:
        config["user"] = {"name": user}
    is_disabled = str(profile.get("disablePasswordAuthentication", "")).lower()
    if is_disabled in ("true", "false"):
        config["ssh_pwauth"] = is_disabled == "false"
    elif given.has_password_login is not None:
        config["ssh_pwauth"] = given.has_password_login
    return b"#cloud-config\n" + msgspec.json.encode(config) if config else b""
