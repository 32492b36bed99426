"""User data at an address that the kernel command line (`cloud-config-url=`) or the image's configuration names: http, https, or a file.

There is no metadata with an instance id: the machine is identified by its hardware's UUID, or by its machine id.
"""

from precast.boot.capabilities import Capability
from precast.boot.sources import issues
from precast.boot.sources.contract import (
    DetectedSource,
    Evidence,
    Likelihood,
    MachineAccess,
    Plausibility,
    RetryPolicy,
    SourceData,
)

PARAMETERS = ("cloud-config-url", "url")
MAX_BYTES = 8 * 1024 * 1024


class Plain:
    name = "plain"
    rank = 10
    deadline_s = 30.0
    needs_network = True
    capabilities = frozenset({Capability.INSTANCE_ID, Capability.USER_DATA, Capability.PLATFORM, Capability.METADATA})

    def __init__(self, address: str = "") -> None:
        self._address = address

    def likelihood(self, evidence: Evidence) -> Likelihood:
        where = "the image's configuration" if self._address else "the kernel command line"
        if address := self._address or find_address(evidence):
            return Likelihood(Plausibility.CONFIRMED, f"{where} names {address}")
        return Likelihood(Plausibility.RULED_OUT, "nothing names an address")

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        address = self._address or find_address(access.evidence)
        if not address:
            return None
        user_data = await _read(access, address)
        values = {
            Capability.INSTANCE_ID: _find_instance_id(access),
            Capability.USER_DATA: user_data,
            Capability.PLATFORM: "none",
            Capability.METADATA: {},
        }
        return SourceData(address, values)


def find_address(evidence: Evidence) -> str:
    """Return the address on the kernel command line; empty if there is none."""
    words = dict(word.partition("=")[::2] for word in evidence.command_line.split())
    return next((words[name] for name in PARAMETERS if words.get(name)), "")


async def _read(access: MachineAccess, address: str) -> bytes:
    if address.startswith(("file://", "/")):
        data = access.read(address.removeprefix("file://"), MAX_BYTES)
        if data is None:
            raise issues.NO_ANSWER.error(url=address, reason="there is no such file")
        return data
    answer = await access.ask(address, retry_policy=RetryPolicy(5.0, is_retried=True), max_bytes=MAX_BYTES)
    if answer.status != 200:
        raise issues.NO_ANSWER.error(url=address, reason=f"its status is {answer.status}")
    return answer.body


def _find_instance_id(access: MachineAccess) -> str:
    machine = (access.read("/etc/machine-id") or b"").decode(errors="replace").strip()
    return access.evidence.dmi_value("product_uuid").lower() or machine or "iid-plain"
