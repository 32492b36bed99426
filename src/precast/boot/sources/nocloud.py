"""NoCloud: a seed that the operator provides: a directory, a labelled disk or image, a firmware serial number, an HTTP server.

Local seeds are one source and the HTTP seed is another, since only the latter needs the network. If several local seeds exist, the first
counts: a seed directory, then the image's configuration, then a disk; the kernel command line is merged over it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from precast.boot.capabilities import Capability
from precast.boot.sources import documents, firmware, issues
from precast.boot.sources.contract import (
    DetectedSource,
    Evidence,
    LazyValue,
    Likelihood,
    MachineAccess,
    Plausibility,
    RetryPolicy,
    SourceData,
)

SEEDS = ("/var/lib/cloud/seed/nocloud", "/var/lib/cloud/seed/nocloud-net")
LABEL = "cidata"
NAMES = ("nocloud", "nocloud-net")
# The instance id of a seed without one, as in cloud-init.
DEFAULT_ID = "nocloud"
MAX_USER_DATA_BYTES = 8 * 1024 * 1024
META, USER, VENDOR, NETWORK = "meta-data", "user-data", "vendor-data", "network-config"
FILES = (META, USER, VENDOR, NETWORK)
OFFERED = frozenset(
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
_SHORT = {"h": "local-hostname", "i": "instance-id", "s": "seedfrom"}
_FIRMWARE = {
    "system-serial-number": "product_serial",
    "system-uuid": "product_uuid",
    "system-product-name": "product_name",
    "system-manufacturer": "sys_vendor",
    "system-version": "product_version",
    "chassis-asset-tag": "chassis_asset_tag",
}
_Files = dict[str, bytes]


class NoCloud:
    """The local seeds."""

    name = "nocloud"
    rank = 90
    capabilities = OFFERED
    deadline_s = 15.0
    needs_network = False

    def likelihood(self, evidence: Evidence) -> Likelihood:
        return _judge_likelihood(evidence, Plausibility.POSSIBLE)

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        local = await _find_local(access)
        if local is None or _is_remote(_find_seed(local[1], access.evidence)):
            return None
        return _make_data(*local, "nocloud")


class NoCloudNet:
    """The HTTP seed that the command line, the firmware, the image or a local seed names."""

    name = "nocloud-net"
    rank = 89
    capabilities = OFFERED
    deadline_s = 30.0
    needs_network = True

    def __init__(self, address: str = "") -> None:
        self._address = address

    def likelihood(self, evidence: Evidence) -> Likelihood:
        if self._address:
            return Likelihood(Plausibility.CONFIRMED, f"the image's configuration names {self._address}")
        given = _read_given(evidence)
        if given is not None and not _is_remote(_find_seed(given, evidence)):
            return Likelihood(Plausibility.RULED_OUT, "the seed that is named is local")
        return _judge_likelihood(evidence, Plausibility.POSSIBLE)

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        local = await _find_local(access)
        meta = local[1] if local is not None else {}
        seed = self._address or _find_seed(meta, access.evidence)
        if not _is_remote(seed):
            return None
        came = await _fetch(access, seed)
        merged = {**_read_meta_data(f"{seed}{META}", came.get(META, b"")), **_drop_seed(meta)}
        return _make_data(seed, merged, {**(local[2] if local is not None else {}), **came}, "nocloud")


def _judge_likelihood(evidence: Evidence, otherwise: Plausibility) -> Likelihood:
    named = firmware.find_named_source(evidence)
    if named is not None and named.name in NAMES:
        return Likelihood(Plausibility.CONFIRMED, f"{named.where} names it")
    if _find_label(evidence) in evidence.labels:
        return Likelihood(otherwise, f"there is a disk with the label {_find_label(evidence)}")
    return Likelihood(otherwise, "any machine may have a seed")


def _read_given(evidence: Evidence) -> dict[str, Any] | None:
    """Return the values in the command line or serial number, as meta-data; None if they do not name NoCloud."""
    named = firmware.find_named_source(evidence)
    if named is None or named.name not in NAMES:
        return None
    return {_SHORT.get(key, key): value for key, value in named.values.items()}


async def _find_local(access: MachineAccess) -> tuple[str, dict[str, Any], _Files] | None:
    """Return origin, meta-data and files of the first local seed, with the command line's values merged over it."""
    given = _read_given(access.evidence)
    inline = _read_inline(access.evidence)
    for place in SEEDS:
        if files := read_files(access, place):
            # Like cloud-init: meta-data comes from the seed, user-data from the image's configuration.
            return _merge(
                f"directory {place}", {**files, **{key: inline[key] for key in (USER,) if key in inline}}, given
            )
    if inline:
        return _merge("the image's configuration", inline, given)
    device = access.evidence.labels.get(_find_label(access.evidence))
    if device is not None:
        async with access.mounted(device) as disk:
            if files := read_files(disk, ""):
                return _merge(f"disk {device}", files, given)
    if given is None:
        return None
    seed = _find_seed(given, access.evidence)
    if seed and not _is_remote(seed):
        files = read_files(access, seed.removeprefix("file://").rstrip("/"))
        return _merge(f"directory {seed}", files, given) if files else None
    return ("the kernel command line or firmware", given, {})


def _read_inline(evidence: Evidence) -> _Files:
    """Return the seed inside the image's configuration; it must have both meta-data and user-data."""
    said = evidence.of_image("NoCloud")
    meta, user = said.get(META), said.get(USER)
    if not isinstance(meta, Mapping | str) or not isinstance(user, Mapping | str):
        return {}
    return {META: _encode(meta), USER: (b"" if isinstance(user, str) else b"#cloud-config\n") + _encode(user)}


def _encode(value: Mapping[str, Any] | str) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str)


def _find_label(evidence: Evidence) -> str:
    """Return the disk's label in lower case; the image's configuration may set another, or none."""
    label = evidence.of_image("NoCloud").get("fs_label", LABEL)
    return label.lower() if isinstance(label, str) else ""


def read_files(access: MachineAccess, place: str) -> _Files:
    """Return the files of a seed; empty if it has neither meta-data nor user-data."""
    contents = {name: access.read(f"{place}/{name}", MAX_USER_DATA_BYTES) for name in FILES}
    if contents[META] is None and contents[USER] is None:
        return {}
    return {name: data for name, data in contents.items() if data is not None}


def _merge(origin: str, files: _Files, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Any], _Files]:
    return origin, {**_read_meta_data(f"{META} of {origin}", files.get(META, b"")), **(given or {})}, files


def _read_meta_data(where: str, data: bytes) -> dict[str, Any]:
    return documents.read_map(where, data)


async def _fetch(access: MachineAccess, seed: str) -> _Files:
    """Fetch the files of an HTTP seed, with retries until the deadline, since a configuration names the seed."""
    retry_policy = RetryPolicy(timeout_s=5.0, is_retried=True)
    files: _Files = {}
    for name in FILES:
        answer = await access.ask(f"{seed}{name}", retry_policy=retry_policy, max_bytes=MAX_USER_DATA_BYTES)
        if answer.status == 200:
            files[name] = answer.body
        elif name in (META, USER):
            raise issues.NO_ANSWER.error(url=f"{seed}{name}", reason=f"its status is {answer.status}")
    return files


def _make_data(origin: str, meta: Mapping[str, Any], files: _Files, platform: str) -> SourceData:
    where = f"{META} of {origin}"
    values: dict[Capability, Any] = {
        Capability.INSTANCE_ID: documents.read_optional_name(f"instance-id in {where}", meta.get("instance-id"))
        or DEFAULT_ID,
        Capability.METADATA: dict(meta),
        Capability.PLATFORM: platform,
    }
    names = {
        Capability.HOSTNAME: meta.get("local-hostname") or meta.get("hostname"),
        Capability.ZONE: meta.get("availability-zone") or meta.get("availability_zone"),
        Capability.REGION: meta.get("region"),
    }
    for capability, value in names.items():
        if (text := documents.read_optional_name(f"{capability.value} in {where}", value)) is not None:
            values[capability] = text
    if keys := documents.read_keys(f"public-keys in {where}", meta.get("public-keys") or meta.get("public_keys")):
        values[Capability.PUBLIC_KEYS] = keys
    for capability, name in ((Capability.USER_DATA, USER), (Capability.VENDOR_DATA, VENDOR)):
        if name in files:
            values[capability] = files[name]
    return SourceData(origin, values, make_network_config(f"{NETWORK} of {origin}", files.get(NETWORK)))


def make_network_config(where: str, data: bytes | None) -> dict[Capability, LazyValue]:
    """Return a lazy network document, so that an invalid one does not affect the other data; empty if there is no content.

    A document of version 2 may be nested below a key `network`.
    """
    if data is None or not data.strip():
        return {}

    async def read() -> dict[str, Any] | None:
        document = documents.read_map(where, data)
        return documents.expect(where, document.get("network", document), dict) or None

    return {Capability.NETWORK_CONFIG: read}


def _find_seed(meta: Mapping[str, Any], evidence: Evidence) -> str:
    seed = documents.read_optional_name("seedfrom", meta.get("seedfrom")) or ""
    for name, entry in _FIRMWARE.items():
        seed = seed.replace(f"__dmi.{name}__", evidence.dmi_value(entry))
    return seed if not seed or seed.endswith(("/", "=")) else f"{seed}/"


def _drop_seed(meta: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in meta.items() if key != "seedfrom"}


def _is_remote(seed: str) -> bool:
    return seed.startswith(("http://", "https://"))
