"""`timezone`: the short name of the zone that holds now, of the machine's own zone and not of our process's environment."""

import io
import zoneinfo
from datetime import datetime

from precast.agent.facts.machine import Facts, Machine

MAX_ZONE_BYTES = 100_000


def collect(machine: Machine) -> Facts:
    """A machine without /etc/localtime is on UTC, as the C library has it; a broken file says nothing."""
    if not machine.exists("/etc"):
        return {}
    data = machine.read_bytes("/etc/localtime", MAX_ZONE_BYTES)
    if data is None:
        return {"timezone": "UTC"}
    try:
        zone = zoneinfo.ZoneInfo.from_file(io.BytesIO(data))
        name = datetime.now(zone).tzname()
    except Exception:  # noqa: BLE001 - the reader of the standard library fails in many ways on a damaged file
        return {}
    return {"timezone": name} if name else {}
