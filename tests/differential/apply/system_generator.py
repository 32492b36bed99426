"""Generated manifests of groups, users, hosts and jobs, each a step from the one before, all of which can be applied."""

import random
from collections.abc import Iterator

NAMES = 10
_SYSTEM_GROUPS = ["daemon", "users", "nogroup"]
_FURTHER = ["adm", "tty", "audio", "video"]
_COMMENTS = ["", "Plain", "With, commas", "it's quoted", "Größe 5"]
_TIMES = {"minute": 59, "hour": 23, "monthday": 28, "month": 12, "weekday": 6}


def manifests(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return ["\n".join(_resources(chance)) + "\n" for _ in range(count)]


def _resources(chance: random.Random) -> Iterator[str]:
    makers = (_group, _user, _host, _job)
    for maker in makers:
        for at in range(NAMES):
            if chance.random() < 0.8:
                yield maker(chance, at)


def _group(chance: random.Random, at: int) -> str:
    if chance.random() < 0.2:
        return f"group {{ 'gg{at}': ensure => absent }}"
    wanted = {"ensure": "present"}
    if chance.random() < 0.8:
        wanted["gid"] = str(7000 + at * 10 + chance.randrange(3))
    return _code("group", f"gg{at}", wanted)


def _user(chance: random.Random, at: int) -> str:
    name = f"gu{at}"
    if chance.random() < 0.2:
        return f"user {{ '{name}': ensure => absent, managehome => {chance.choice(['true', 'false'])} }}"
    possible = {
        "uid": str(8000 + at * 10 + chance.randrange(3)),
        "gid": _quoted(chance.choice(_SYSTEM_GROUPS)),
        "groups": _array(chance.sample(_FURTHER, chance.randrange(3))),
        "membership": chance.choice(["minimum", "inclusive"]),
        "comment": _quoted(chance.choice(_COMMENTS)),
        "shell": _quoted(chance.choice(["/bin/sh", "/bin/bash", "/usr/sbin/nologin"])),
        "home": _quoted(f"/home/{name}{chance.choice(['', 'x'])}"),
        "managehome": chance.choice(["true", "false"]),
        "password": _quoted(chance.choice(["*", "!", "$6$a$b", "$6$c$d"])),
        "password_max_age": str(chance.choice([30, 90, 99999])),
        "password_min_age": str(chance.choice([0, 1, 7])),
        "password_warn_days": str(chance.choice([3, 7])),
        "expiry": _quoted(chance.choice(["absent", "2031-01-02", "2040-12-31"])),
        "system": chance.choice(["true", "false"]),
    }
    kept = {key: value for key, value in possible.items() if chance.random() < 0.5}
    return _code("user", name, {"ensure": "present", **kept})


def _host(chance: random.Random, at: int) -> str:
    name = f"gh{at}.example"
    if chance.random() < 0.2:
        return f"host {{ '{name}': ensure => absent }}"
    wanted = {"ip": _quoted(chance.choice([f"10.1.{at}.{chance.randrange(9)}", f"fd00::{at}"]))}
    if chance.random() < 0.6:
        wanted["host_aliases"] = _array([f"gh{at}", f"a{at}", f"b{at}"][: chance.randrange(1, 4)])
    if chance.random() < 0.4:
        wanted["comment"] = _quoted(chance.choice(["one", "two words"]))
    return _code("host", name, wanted)


def _job(chance: random.Random, at: int) -> str:
    user = ["root", "daemon"][at % 2]
    if chance.random() < 0.2:
        return f"cron {{ 'job {at}': ensure => absent, user => '{user}' }}"
    wanted = {"command": _quoted(f"/bin/echo {chance.choice(['a', 'b  c', 'x % y'])}"), "user": _quoted(user)}
    if chance.random() < 0.2:
        wanted["special"] = _quoted(chance.choice(["daily", "reboot"]))
        wanted |= dict.fromkeys(_TIMES, "absent")
    else:
        wanted["special"] = "absent"
        for name, last in _TIMES.items():
            wanted[name] = _time(chance, last)
    return _code("cron", f"job {at}", wanted)


def _time(chance: random.Random, last: int) -> str:
    first = chance.randrange(1, last)
    possible = ["absent", str(first), f"'{first}-{last}'", "'*/2'", f"[{first}, {last}]", "'*'"]
    return chance.choice(possible)


def _code(kind: str, title: str, attributes: dict[str, str]) -> str:
    return f"{kind} {{ '{title}': {', '.join(f'{key} => {value}' for key, value in attributes.items())} }}"


def _array(names: list[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _quoted(text: str) -> str:
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"
