"""Salt beside us: `test.ping` over minions on this machine. Prints returns a second, and the memory of the master for each minion.

    .venv-peers/bin/python bench/peers/returns_salt.py DIRECTORY MINIONS ROUNDS

Salt's defaults, but for the ports and the acceptance of keys. The minions are forked from one process that has loaded Salt, each without
the process that watches over it; so they start sooner and take less of the machine. The commands are run as a person runs them, and by
Salt's client in a process that is started already. Memory is the proportional set size (PSS) of all processes of the master.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import salt.cli.daemons  # type: ignore[import-not-found,unused-ignore]
import salt.client  # type: ignore[import-not-found,unused-ignore]
import salt.minion  # type: ignore[import-not-found,unused-ignore]  # loaded before the minions are forked

FEW = 5
START_S = 400
ANSWER_S = 60
SETTLE_S = 5


def main(directory: Path, minions: int, rounds: int) -> None:
    ports = [free_port(), free_port()]
    master = start_master(directory, ports)
    pids: list[int] = []
    try:
        time.sleep(SETTLE_S)
        client = salt.client.LocalClient(str(directory / "master" / "etc" / "master"))
        pids += [fork_minion(directory, number, ports) for number in range(FEW)]
        wait_for(client, FEW)
        measure(client, FEW, rounds)
        time.sleep(SETTLE_S)
        before_kb = memory_kb(master.pid)
        pids += [fork_minion(directory, number, ports) for number in range(FEW, minions)]
        wait_for(client, minions)
        by_client = measure(client, minions, rounds)
        time.sleep(SETTLE_S)
        after_kb = memory_kb(master.pid)
        by_command = [ping_by_command(directory, minions) for _ in range(rounds)]
        print(
            json.dumps(
                {
                    "minions": minions,
                    "returns_per_s": max(by_command),
                    "returns_per_s_rounds": by_command,
                    "client_returns_per_s": max(by_client),
                    "client_returns_per_s_rounds": by_client,
                    "master_mb": after_kb / 1024,
                    "master_kb_each": (after_kb - before_kb) / (minions - FEW),
                }
            )
        )
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        os.killpg(master.pid, signal.SIGKILL)


def start_master(directory: Path, ports: list[int]) -> subprocess.Popen[bytes]:
    place = directory / "master"
    (place / "etc").mkdir(parents=True)
    (place / "etc" / "master").write_text(
        f"root_dir: {place}\ninterface: 127.0.0.1\npublish_port: {ports[0]}\nret_port: {ports[1]}\nauto_accept: true\n"
    )
    command = [str(Path(sys.executable).with_name("salt-master")), "-c", str(place / "etc")]
    with (place / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def fork_minion(directory: Path, number: int, ports: list[int]) -> int:
    place = directory / f"minion{number:03}"
    (place / "etc").mkdir(parents=True)
    (place / "etc" / "minion").write_text(
        f"root_dir: {place}\nid: minion{number:03}\nmaster: 127.0.0.1\n"
        f"publish_port: {ports[0]}\nmaster_port: {ports[1]}\n"
    )
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    log = os.open(place / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = ["salt-minion", "-c", str(place / "etc")]
    salt.cli.daemons.Minion().start()
    os._exit(1)


def wait_for(client: salt.client.LocalClient, minions: int) -> None:
    """Wait until all minions answer."""
    until_s = time.monotonic() + START_S
    answers = 0
    while answers < minions:
        if time.monotonic() > until_s:
            raise SystemExit(f"{answers} of {minions} minions answer after {START_S} s")
        time.sleep(1)
        answers = ping(client)


def ping(client: salt.client.LocalClient) -> int:
    return sum(answer is True for answer in client.cmd("*", "test.ping", timeout=ANSWER_S).values())


def measure(client: salt.client.LocalClient, minions: int, rounds: int) -> list[float]:
    """Returns a second, for each round."""
    rates = []
    for _ in range(rounds):
        began_s = time.monotonic()
        answers = ping(client)
        rates.append(answers / (time.monotonic() - began_s))
        if answers != minions:
            print(f"{answers} of {minions} minions answered", file=sys.stderr)
    return rates


def ping_by_command(directory: Path, minions: int) -> float:
    command = [str(Path(sys.executable).with_name("salt")), "-c", str(directory / "master" / "etc")]
    began_s = time.monotonic()
    done = subprocess.run(
        [*command, "*", "test.ping", "--out=json", "--static", f"--timeout={ANSWER_S}"], capture_output=True, text=True
    )
    took_s = time.monotonic() - began_s
    answers = sum(answer is True for answer in json.loads(done.stdout).values())
    if answers != minions:
        print(f"{answers} of {minions} minions answered", file=sys.stderr)
    return answers / took_s


def memory_kb(leader: int) -> float:
    """The proportional set size of all processes of a session."""
    total = 0
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                if os.getsid(int(place.name)) == leader:
                    rollup = (place / "smaps_rollup").read_text()
                    total += int(next(line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:")))
            except (OSError, StopIteration):
                continue  # it has ended meanwhile
    return total


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
