"""Measures how long a boot searches for its data source while five sources are absent in different ways. Runs in a network namespace.

It prints one JSON object. `own_s` is a boot with the right source alone, in the same loop.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.boot_cases import services
from precast.agent.applying.machine import Machine as Managed
from precast.base.clock import SystemClock
from precast.boot import configuration, events
from precast.boot.events import AnyEvent
from precast.boot.loop import Boot, BootParts, Options
from precast.boot.module_runs import ModuleRunner
from precast.boot.modules import registry
from precast.boot.source_choice import ChosenSource, SourceChoice
from precast.boot.sources.contract import Evidence, Plausibility, Source
from precast.boot.sources.digitalocean import DigitalOcean
from precast.boot.sources.ec2 import Ec2
from precast.boot.sources.gce import Gce
from precast.boot.sources.hetzner import Hetzner
from precast.boot.sources.machine import Machine
from precast.boot.sources.nocloud import NoCloudNet
from precast.boot.sources.openstack import OpenStack
from precast.boot.state import State

ROUNDS = 15
PEER = Path(__file__).parents[1] / "peers" / "sources_cloudinit.py"


def at(port: int) -> str:
    return f"http://{services.ADDRESS}:{port}/"


def absent() -> list[Source]:
    """Sources whose services are silent, refused, slow and wrong."""
    return [
        OpenStack(at(services.SILENT)),
        Gce(at(services.REFUSED)),
        DigitalOcean(at(services.SLOW)),
        Hetzner(at(services.WRONG)),
    ]


async def boot(sources: Sequence[Source], evidence: Evidence) -> tuple[float, float, str]:
    """Seconds to the configuration, seconds to the end, and the name of the source that gave the identity."""
    with tempfile.TemporaryDirectory() as name:
        root, clock = Path(name), SystemClock()
        likely = [ChosenSource(source, source.likelihood(evidence)) for source in sources]
        chosen = [choice for choice in likely if choice.likelihood.plausibility != Plausibility.RULED_OUT]
        state = State(root)
        seen: list[AnyEvent] = []
        parts = BootParts(
            Machine(root, evidence, clock),
            SourceChoice(chosen, ()),
            [module for module in registry.list_modules() if module.name == "hostname"],
            state,
            ModuleRunner(state, Managed(str(root), str(state.directory), clock), state.log),
            clock,
            lambda values, _: configuration.make(values, {}, None),
        )
        started = time.perf_counter()
        await Boot(parts, Options(), seen.append).run()
        ended_s = time.perf_counter() - started
        identity = state.identity()
    configured_s = next(event.at_s for event in seen if isinstance(event, events.ConfigurationMade))
    return configured_s, ended_s, identity.source if identity is not None else ""


class Case(NamedTuple):
    """The sources, the name of the source that must give the identity, and the evidence of the firmware."""

    sources: Sequence[Source]
    expected: str
    evidence: Evidence = Evidence()


def measure(cases: Mapping[str, Case], rounds: int) -> dict[str, float]:
    """Median seconds to the end of the boot, by case. Fails if another source than the expected one gave the identity.

    The cases alternate, so that other load of the machine affects all of them alike.
    """
    durations: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            _, ended_s, identity = asyncio.run(boot(case.sources, case.evidence))
            assert identity == case.expected, f"{identity} gave the identity, not {case.expected}"
            durations[name].append(ended_s)
    return {name: round(statistics.median(times), 4) for name, times in durations.items()}


def measure_peer(limit_s: float) -> dict[str, Any]:
    """Measure the classes of Debian's cloud-init with the same services, in a separate process and with a time limit."""
    started = time.perf_counter()
    try:
        done = subprocess.run(
            ["/usr/bin/python3", str(PEER)], capture_output=True, text=True, timeout=limit_s, check=False
        )
    except FileNotFoundError:
        return {"cloudinit_why": "no /usr/bin/python3"}
    except subprocess.TimeoutExpired:
        return {"cloudinit_s": round(time.perf_counter() - started, 3), "cloudinit_why": "stopped at the limit"}
    if done.returncode != 0:
        return {"cloudinit_why": (done.stderr.strip().splitlines() or ["it failed"])[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    limit_s = float(sys.argv[1])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{services.ADDRESS}/32", "dev", "lo"], check=True)
    words = [sys.executable, "-m", "bench.boot_cases.services"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        right, last = NoCloudNet(at(services.RIGHT)), Ec2(at(services.RIGHT))
        elsewhere = Ec2(at(services.REDIRECT))
        amazon = Evidence(dmi={"sys_vendor": "Amazon EC2", "product_uuid": "ec2b"})
        cases = {
            "own_s": Case([right], "nocloud-net"),
            "absent_s": Case([*absent(), elsewhere, right], "nocloud-net"),
            "own_low_s": Case([last], "ec2"),
            "confirmed_low_s": Case([*absent(), last], "ec2", amazon),
        }
        figures: dict[str, Any] = {
            **measure(cases, ROUNDS),
            **measure({"higher_plausible_s": Case([*absent(), last], "ec2")}, 1),
            "longest_deadline_s": max(source.deadline_s for source in [*absent(), last]),
        }
        figures |= measure_peer(limit_s)
        server.communicate()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
