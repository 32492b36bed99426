"""Asks one source, within its deadline, and makes of everything that can happen one of three answers: here, not here, or why not believed.

Nothing that a source meets ends a boot: an error of its own is a reason in the report.
"""

import asyncio
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.boot.sources import issues
from precast.boot.sources.answer_cache import CachingSource
from precast.boot.sources.contract import DetectedSource, MachineAccess, Source

NOT_HERE = "it is not here"


class ProbeResult(NamedTuple):
    """What came of asking. `reason` says why there is nothing; `is_absent`: because this is another platform."""

    found: DetectedSource | None
    reason: str = ""
    is_absent: bool = False


async def probe(source: Source, access: MachineAccess) -> ProbeResult:
    """Ask a source. Cancelling stops asking, and leaves nothing behind."""
    try:
        async with asyncio.timeout(source.deadline_s):
            found = await source.find(access)
    except TimeoutError:
        late = issues.LATE.error(source=source.name, seconds=f"{source.deadline_s:g}")
        if isinstance(source, CachingSource):
            source.keep_late(late.message)
        return ProbeResult(None, late.message)
    except PrecastError as error:
        return ProbeResult(None, error.message)
    except Exception as error:  # noqa: BLE001 - the boundary to a source: what it did not foresee must not end the boot
        return ProbeResult(
            None, issues.UNFIT.error(source=source.name, problem=f"{type(error).__name__}: {error}").message
        )
    return ProbeResult(found) if found is not None else ProbeResult(None, NOT_HERE, is_absent=True)
