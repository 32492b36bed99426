"""`timezone`: the current short name of the machine's own time zone, regardless of this process's environment."""

import io
import zoneinfo
from datetime import datetime

from precast.agent.facts.machine import Facts, Machine

MAX_ZONE_BYTES = 100_000


def collect(machine: Machine) -> Facts:
    """Collect the zone. A machine without /etc/localtime uses UTC, as in the C library; with a broken file the fact is absent."""
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
