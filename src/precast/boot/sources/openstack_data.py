"""Reads OpenStack's file layout, which its metadata service and ConfigDrive share."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from precast.boot.capabilities import Capability
from precast.boot.network.readers import openstack as network
from precast.boot.sources import documents, issues
from precast.boot.sources.contract import InjectedFile, LazyValue, SourceData

LATEST = "openstack/latest"
MAX_FILES = 100
OFFERED = frozenset(
    {
        Capability.INSTANCE_ID,
        Capability.HOSTNAME,
        Capability.PUBLIC_KEYS,
        Capability.USER_DATA,
        Capability.VENDOR_DATA,
        Capability.NETWORK_CONFIG,
        Capability.ZONE,
        Capability.PASSWORD_GET,
        Capability.FILES,
        Capability.PLATFORM,
        Capability.METADATA,
    }
)
Read = Callable[[str], Awaitable[bytes | None]]


async def read(read: Read, origin: str, where: str, meta: dict[str, Any], latest: str = LATEST) -> SourceData:
    """Read all files; `meta` is the parsed meta_data.json. Raises InputError for invalid content."""
    values = documents.keep_known_values(
        where,
        {
            Capability.INSTANCE_ID: documents.read_name(f"uuid in {where}", meta.get("uuid")),
            Capability.METADATA: meta,
            Capability.PLATFORM: "openstack",
            Capability.HOSTNAME: meta.get("hostname") or meta.get("name"),
            Capability.ZONE: meta.get("availability_zone"),
            Capability.PASSWORD_GET: meta.get("admin_pass"),
            Capability.PUBLIC_KEYS: documents.read_keys(f"public_keys in {where}", meta.get("public_keys")),
        },
    )
    if user_data := await read(f"{latest}/user_data"):
        values[Capability.USER_DATA] = user_data
    vendor = [await _read_vendor_data(read, f"{latest}/{name}") for name in ("vendor_data.json", "vendor_data2.json")]
    if vendor_data := _join_vendor_data([document for document in vendor if document]):
        values[Capability.VENDOR_DATA] = vendor_data
    if files := await _read_files(read, where, meta):
        values[Capability.FILES] = files
    return SourceData(origin, values, await _make_network(read, where, latest))


async def _make_network(read: Read, where: str, latest: str) -> dict[Capability, LazyValue]:
    data = await read(f"{latest}/network_data.json")
    if data is None:
        return {}
    place = f"{where}: network_data.json"

    async def read_now() -> dict[str, Any]:
        document = documents.expect(place, documents.read_json(place, data), dict)
        return await documents.convert_lazily(place, network.convert_to_v2, document)()

    return {Capability.NETWORK_CONFIG: read_now}


def _join_vendor_data(vendor: list[bytes]) -> bytes | None:
    """Join both kinds of vendor data into one archive, in which the dynamic kind overrides the other."""
    if len(vendor) < 2:
        return vendor[0] if vendor else None
    return b"#cloud-config-archive\n" + msgspec.json.encode([{"content": document.decode()} for document in vendor])


async def _read_vendor_data(read: Read, path: str) -> bytes | None:
    """Read vendor data for cloud-init: the whole text, or else the value below `cloud-init`; a list is an archive of parts."""
    data = await read(path)
    if data is None:
        return None
    content = documents.read_json(path, data)
    if isinstance(content, dict):
        content = content.get("cloud-init")
    if isinstance(content, list):
        return b"#cloud-config-archive\n" + msgspec.json.encode(content)
    if isinstance(content, dict):
        return b"#cloud-config\n" + msgspec.json.encode(content)
    return content.encode() if isinstance(content, str) and content else None


async def _read_files(read: Read, where: str, meta: dict[str, Any]) -> tuple[InjectedFile, ...]:
    """Read the files that the platform puts into the file system. Source and target names are untrusted and checked."""
    rows = documents.expect(f"files in {where}", meta.get("files") or [], list)[:MAX_FILES]
    files = []
    for row in rows:
        entry = documents.expect(f"files in {where}", row, dict)
        target = check_target(f"files in {where}", entry.get("path"))
        source = check_name(f"files in {where}", entry.get("content_path"))
        content = await read(f"openstack/{source}")
        if content is not None:
            files.append(InjectedFile(target, content))
    return tuple(files)


def check_name(where: str, value: Any) -> str:
    """Return a relative name that stays in its directory; a leading slash is dropped. Raises InputError BOOT-105, BOOT-106."""
    path = documents.expect(where, value, str).lstrip("/")
    if not path or ".." in path.split("/") or not path.isprintable():
        raise issues.BAD_PATH.error(where=where, path=value)
    return path


def check_target(where: str, value: Any) -> str:
    """Return an absolute path without `..`. Raises InputError BOOT-105, BOOT-106."""
    path = documents.expect(where, value, str)
    if not path.startswith("/") or ".." in path.split("/") or not path.isprintable():
        raise issues.BAD_PATH.error(where=where, path=value)
    return path
