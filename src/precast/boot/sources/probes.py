"""Asks one source within its deadline, and reduces every outcome to one of three results: present, absent, or failed with a reason.

No failure of a source ends a boot: it is a reason in the report.
"""

import asyncio
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.boot.sources import issues
from precast.boot.sources.answer_cache import CachingSource
from precast.boot.sources.contract import DetectedSource, MachineAccess, Source

NOT_HERE = "absent"


class ProbeResult(NamedTuple):
    """The result of asking a source. `reason` states why there is no data; `is_absent`: because this is another platform."""

    detected: DetectedSource | None
    reason: str = ""
    is_absent: bool = False


async def probe(source: Source, access: MachineAccess) -> ProbeResult:
    """Ask a source. Cancelling stops the request and leaves nothing behind."""
    try:
        async with asyncio.timeout(source.deadline_s):
            detected = await source.find(access)
    except TimeoutError:
        late = issues.LATE.error(source=source.name, seconds=f"{source.deadline_s:g}")
        if isinstance(source, CachingSource):
            source.cache_timeout(late.message)
        return ProbeResult(None, late.message)
    except PrecastError as error:
        return ProbeResult(None, error.message)
    except Exception as error:  # noqa: BLE001 - the boundary to a source: an unexpected error must not end the boot
        return ProbeResult(
            None, issues.UNFIT.error(source=source.name, problem=f"{type(error).__name__}: {error}").message
        )
    return ProbeResult(detected) if detected is not None else ProbeResult(None, NOT_HERE, is_absent=True)
