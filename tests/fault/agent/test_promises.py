"""A run is killed at each system call by which it stores a promise: the state of the node and the record for the servers are there, or
neither is.

The order is carried out again until its run is not killed; then there is one record, whatever was killed before.
"""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from precast.agent.state.store import LocalStore

# Each call, or each so many: a transaction writes several pages.
CALLS = {"pwrite64": 7, "fdatasync": 1}
MOST = 250
SCRIPT = """
import sys
from pathlib import Path
from precast.agent.futures.run_values import Fulfilment
from precast.agent.futures.stored_values import RunIdentity, StoredRunValues
from precast.agent.state.spool import SpoolLimits
from precast.agent.state.store import LocalStore

root = Path(sys.argv[1])
values = StoredRunValues(
    lambda: LocalStore.open(root, lambda: "instance1"), RunIdentity("c" * 64, "db1", "job.1", "report"), SpoolLimits()
)
values.begin(["db/endpoint", "db/other"], {"db/other": "its tags exclude it"}, has_waits=True)
values.fulfil(Fulfilment("db/endpoint", {"port": 5432}, ttl_s=60))
values.end()
"""

pytestmark = [pytest.mark.needs("strace"), pytest.mark.timeout(300)]


def carry_out(root: Path, *tracer: str) -> int:
    command = [*tracer, sys.executable, "-c", SCRIPT, str(root)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


def stored(root: Path) -> tuple[int, int, list[str]]:
    """How many promises and records of promises there are, and which keys were given up."""
    with closing(LocalStore.open(root, lambda: "instance1")) as store:
        ((promises,),) = store.read("SELECT count(*) FROM promise")
        ((records,),) = store.read("SELECT count(*) FROM record WHERE kind = 'promised'")
        given_up = store.read("SELECT body FROM record WHERE kind = 'unpromised'")
    return promises, records, [json.loads(body)["key"] for (body,) in given_up]


@pytest.mark.parametrize("call", CALLS)
def test_killed_run_neither_loses_nor_repeats_a_promise(call: str, tmp_path: Path) -> None:
    for n in range(1, MOST, CALLS[call]):
        root = tmp_path / str(n)
        root.mkdir()
        stored(root)  # the store is there before
        tracer = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={n}", "-e", call]
        code = carry_out(root, *tracer)
        promises, records, _ = stored(root)
        assert promises == records, f"killed at {call} number {n}"
        assert carry_out(root) == 0
        promises, records, given_up = stored(root)
        assert (promises, records, set(given_up)) == (1, 1, {"db/other"})
        if code == 0:
            return
    pytest.fail(f"{MOST} calls of {call} were not enough")
