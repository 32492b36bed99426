"""The settings of the signer: where its keys are, who may ask it, and its limits."""

import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar

from precast.app.settings import read_level
from precast.base import setting_values
from precast.base.confinement.confine import Level
from precast.base.setting_values import InvalidValueError
from precast.base.settings import Area, Setting, Settings


def read_limits(value: object) -> tuple[str, ...]:
    """Read limits of the form VERB=N."""
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        verb, _, number = part.partition("=") if isinstance(part, str) else ("", "", "")
        if not verb or not number.isdecimal() or not 0 < int(number) <= 10_000_000:
            raise InvalidValueError("VERB=N, such as enrol=6000")
    return tuple(map(str, parts))


def certified_hosts(names: Iterable[str]) -> list[str]:
    """The names and addresses by which clients reach a server on this machine."""
    return list(dict.fromkeys([*names, socket.gethostname(), "localhost", "127.0.0.1", "::1"]))


class SignerSettings(Settings, frozen=True):
    """The settings of a signer."""

    area: ClassVar[Area] = Area("signer", "PRECAST_SIGNER_", lambda _: Path("/etc/precast/signer.toml"))

    data: Annotated[Path, Setting("the directory that has the authority and the signer's own files", "DIR")] = Path(
        "/var/lib/precast/signer"
    )
    socket: Annotated[Path, Setting("the Unix socket to listen on", "FILE")] = Path("/run/precast-signer/signer.sock")
    clients: Annotated[
        tuple[str, ...], Setting("a user whose processes may ask the signer, as the server's", "USER", flag="--client")
    ] = ("precast",)
    names: Annotated[
        tuple[str, ...], Setting("a name or address for which servers get certificates", "HOST", flag="--name")
    ] = ()
    passphrase_file: Annotated[
        Path | None,
        Setting("a file (0600) with the passphrase of the keys", "FILE", read=setting_values.read_path),
    ] = None
    key_command: Annotated[
        str, Setting("a command that prints the passphrase of the keys, such as a client of a secret store", "COMMAND")
    ] = ""
    crl_url: Annotated[
        str, Setting("the address of the CRL, which certificates of nodes then name (default: they name none)", "URL")
    ] = ""
    limits: Annotated[
        tuple[str, ...],
        Setting(
            "how many requests of a verb the signer serves per minute, after a burst of as many",
            "VERB=N",
            flag="--limit",
            read=read_limits,
        ),
    ] = ()
    confinement: Annotated[
        Level,
        Setting(
            "how the signer is confined: strict, or best to accept a kernel without Landlock or seccomp",
            "LEVEL",
            read=read_level,
        ),
    ] = Level.STRICT
    log_size: Annotated[
        int,
        Setting(
            "how large the signer's log grows before the next file begins; 20 are kept",
            "SIZE",
            read=setting_values.within(setting_values.read_size, 64 * 1024, 1024**3),
        ),
    ] = 16 * 1024**2

    @property
    def per_minute(self) -> dict[str, int]:
        return {verb: int(number) for verb, _, number in (limit.partition("=") for limit in self.limits)}
