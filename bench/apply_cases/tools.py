"""The measured tools: Precast, real Puppet, and pyinfra and salt-call if `make peers` installed them. Each has its own state."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PEERS = Path(__file__).resolve().parents[2] / ".venv-peers" / "bin"
FILE_COUNT = 1_000


class Tool(NamedTuple):
    """A command that creates the files, and its environment variables."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = {}


def content(number: int) -> str:
    return f"# file {number}\n" + f"option_{number} = value of {number}\n" * 20


def precast(place: Path, directory: Path, *options: str, count: int = FILE_COUNT) -> Tool:
    manifest = place / "precast.pp"
    manifest.write_text(puppet_code(directory, count))
    program = str(Path(sys.executable).with_name("precast"))
    return Tool("precast", [program, "apply", str(manifest), "--state", str(place / "state"), *options])


def puppet(place: Path, directory: Path, count: int = FILE_COUNT) -> Tool | None:
    if shutil.which("puppet") is None:
        return None
    manifest = place / "puppet.pp"
    manifest.write_text(puppet_code(directory, count))
    return Tool("puppet", ["puppet", "apply", *puppet_options(place), str(manifest)])


def puppet_options(place: Path) -> list[str]:
    """Options that give Puppet its own directories, send no report, and load no modules with facts."""
    modules = place / "modules"
    modules.mkdir(exist_ok=True)
    own = {"confdir": place / "conf", "vardir": place / "var", "rundir": place / "run", "modulepath": modules}
    return [word for name, path in own.items() for word in (f"--{name}", str(path))] + ["--no-report"]


def puppet_code(directory: Path, count: int) -> str:
    lines = [f"file {{ '{directory}': ensure => directory }}"]
    for number in range(count):
        text = content(number).replace("\n", "\\n")
        lines.append(f"file {{ '{directory}/{number}.conf': ensure => file, mode => '0644', content => \"{text}\" }}")
    return "\n".join(lines) + "\n"


def pyinfra(place: Path, directory: Path, count: int = FILE_COUNT) -> Tool | None:
    if not (PEERS / "pyinfra").exists():
        return None
    deploy = place / "deploy.py"
    lines = [
        "from io import StringIO",
        "from pyinfra.operations import files",
        f"files.directory(path={str(directory)!r})",
    ]
    lines += [
        f"files.put(src=StringIO({content(number)!r}), dest={f'{directory}/{number}.conf'!r}, mode='644')"
        for number in range(count)
    ]
    deploy.write_text("\n".join(lines) + "\n")
    return Tool("pyinfra", [str(PEERS / "pyinfra"), "-y", "@local", str(deploy)])


def salt(place: Path, directory: Path, count: int = FILE_COUNT) -> Tool | None:
    if not (PEERS / "salt-call").exists():
        return None
    states = place / "states"
    states.mkdir()
    lines = [f"{directory}:", "  file.directory: []"]
    for number in range(count):
        body = "\n".join(f"        {line}" for line in content(number).splitlines())
        lines += [f"{directory}/{number}.conf:", "  file.managed:", "    - mode: '0644'", "    - contents: |", body]
    (states / "files.sls").write_text("\n".join(lines) + "\n")
    options = [
        "--local",
        "--retcode-passthrough",
        "--out=quiet",
        f"--file-root={states}",
        f"--config-dir={place / 'salt'}",
    ]
    (place / "salt").mkdir()
    (place / "salt" / "minion").write_text(f"root_dir: {place / 'saltroot'}\n")
    return Tool("salt-call", [str(PEERS / "salt-call"), *options, "state.apply", "files"])
