"""VMware: reads the guestinfo variables that the host set, through the guest's tools."""

import gzip
import zlib
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.sources import documents, firmware, issues
from precast.boot.sources.contract import DetectedSource, Evidence, Likelihood, MachineAccess, SourceData

MAX_BYTES = 8 * 1024 * 1024


class VMware:
    name = "vmware"
    rank = 75
    deadline_s = 20.0
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
        return firmware.judge_likelihood(self.name, evidence)

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        contents = {name: await _read_value(access, name) for name in ("metadata", "userdata", "vendordata")}
        if not any(contents.values()):
            return None
        where = "guestinfo.metadata"
        meta = documents.read_map(where, contents["metadata"] or b"")
        values = documents.keep_known_values(
            where,
            {
                # Like cloud-init: the machine's UUID, if the host sets no instance id.
                Capability.INSTANCE_ID: meta.get("instance-id")
                or access.evidence.dmi_value("product_uuid").lower()
                or "iid-vmware",
                Capability.HOSTNAME: meta.get("local-hostname") or meta.get("hostname"),
                Capability.PUBLIC_KEYS: documents.read_keys(
                    f"public_keys in {where}", meta.get("public-keys-data") or meta.get("public_keys")
                ),
                Capability.USER_DATA: contents["userdata"],
                Capability.VENDOR_DATA: contents["vendordata"],
                Capability.NETWORK_CONFIG: _read_network(where, meta),
                Capability.PLATFORM: "vmware",
                Capability.METADATA: meta,
            },
        )
        return SourceData("guestinfo", values)


async def _read_value(access: MachineAccess, name: str) -> bytes | None:
    text = await _run_info_get(access, name)
    if not text or text in (b"---", b" "):  # guestinfo's marks of a deleted value
        return None
    encoding = (await _run_info_get(access, f"{name}.encoding") or b"").decode(errors="replace").strip()
    return decode_value(f"guestinfo.{name}", text, encoding)


async def _run_info_get(access: MachineAccess, name: str) -> bytes | None:
    for words in (
        ["vmware-rpctool", f"info-get guestinfo.{name}"],
        ["vmtoolsd", "--cmd", f"info-get guestinfo.{name}"],
    ):
        output = await access.command(words, MAX_BYTES)
        if output is not None:
            return output.rstrip(b"\n")
    return None


def decode_value(where: str, data: bytes, encoding: str) -> bytes:
    """Decode a value, up to MAX_BYTES. Raises InputError BOOT-101, BOOT-104."""
    if encoding not in ("gzip+base64", "gz+b64"):
        return documents.decode_bytes(where, data, encoding)
    packed = documents.decode_bytes(where, data, "base64")
    try:
        unpacked = zlib.decompressobj(wbits=31).decompress(packed, MAX_BYTES + 1)
    except (zlib.error, gzip.BadGzipFile):
        raise issues.BAD_DOCUMENT.error(where=where, reason="it is not gzip") from None
    if len(unpacked) > MAX_BYTES:
        raise issues.TOO_LARGE.error(where=where, limit=MAX_BYTES)
    return unpacked


def _read_network(where: str, meta: dict[str, Any]) -> dict[str, Any] | None:
    """Read the network config: a map, or a text that may be encoded; with or without an enclosing `config`."""
    given = meta.get("network")
    if isinstance(given, str):
        encoding = documents.expect(f"network.encoding in {where}", meta.get("network.encoding") or "", str)
        given = documents.read_map(f"network in {where}", decode_value(f"network in {where}", given.encode(), encoding))
    if given is None:
        return None
    document = documents.expect(f"network in {where}", given, dict)
    inner = document.get("config", document) if "version" not in document else document
    return documents.expect(f"network in {where}", inner, dict)
