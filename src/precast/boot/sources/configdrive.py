"""ConfigDrive: OpenStack's files on a disk with the label config-2, or in a seed directory."""

from precast.boot.sources import documents, openstack_data
from precast.boot.sources.contract import DetectedSource, Evidence, Likelihood, MachineAccess, Plausibility, SourceData

LABEL = "config-2"
SEED = "/var/lib/cloud/seed/config_drive"
# The first version that exists is read.
VERSIONS = (
    "latest",
    "2018-08-27",
    "2017-02-22",
    "2016-10-06",
    "2016-06-30",
    "2015-10-15",
    "2013-10-17",
    "2013-04-04",
    "2012-08-10",
)
MAX_BYTES = 8 * 1024 * 1024


class ConfigDrive:
    name = "configdrive"
    rank = 80
    capabilities = openstack_data.OFFERED
    deadline_s = 15.0
    needs_network = False

    def likelihood(self, evidence: Evidence) -> Likelihood:
        if LABEL in evidence.labels:
            return Likelihood(Plausibility.CONFIRMED, f"there is a disk with the label {LABEL}")
        return Likelihood(Plausibility.POSSIBLE, "any machine may have a seed")

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        data = await _read(access, SEED, f"directory {SEED}")
        device = access.evidence.labels.get(LABEL)
        if data is not None or device is None:
            return data
        async with access.mounted(device) as disk:
            return await _read(disk, "", f"disk {device}")


async def _read(access: MachineAccess, place: str, origin: str) -> SourceData | None:
    async def read(path: str) -> bytes | None:
        return access.read(f"{place}/{path}", MAX_BYTES)

    for version in VERSIONS:
        latest = f"openstack/{version}"
        path = f"{latest}/meta_data.json"
        if (data := await read(path)) is not None:
            where = f"{origin}: {path}"
            meta = documents.expect(where, documents.read_json(where, data), dict)
            return await openstack_data.read(read, origin, where, meta, latest)
    return None
