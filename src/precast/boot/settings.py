"""The settings of data sources: /etc/precast/boot.toml, PRECAST_BOOT_*, flags."""

from pathlib import Path
from typing import Annotated, ClassVar

from precast.base.settings import Area, Setting, Settings


class BootSettings(Settings, frozen=True):
    """Which sources are asked, and which are trusted besides the identity. `--root` is prefixed to every path."""

    area: ClassVar[Area] = Area("boot", "PRECAST_BOOT_", lambda _: Path("/etc/precast/boot.toml"))

    sources: Annotated[
        tuple[str, ...],
        Setting("ask these sources only (default: all that the evidence does not rule out)", "NAME", flag="--source"),
    ] = ()
    trusted_sources: Annotated[
        tuple[str, ...],
        Setting("these sources may give what the identity does not offer, also user data and keys", "NAME", flag="-"),
    ] = ()
    addresses: Annotated[
        tuple[str, ...], Setting("another base address for a source", "NAME=URL", flag="--address")
    ] = ()
    deadlines: Annotated[
        tuple[str, ...], Setting("another deadline for a source, in seconds", "NAME=SECONDS", flag="--deadline")
    ] = ()
