"""What the image itself says, where cloud-init has it: /etc/cloud/cloud.cfg, then cloud.cfg.d/*.cfg by name. Later files win."""

from pathlib import Path
from typing import Any

from precast.boot.modules import people
from precast.boot.sources import documents
from precast.boot.sources.reach import MAX_FILE_BYTES
from precast.boot.userdata import merging
from precast.resources.files import places

FILE, DIRECTORY = "/etc/cloud/cloud.cfg", "/etc/cloud/cloud.cfg.d"


def read(root: Path) -> dict[str, Any]:
    """The configuration, with the default user of this system if it names none.

    Raises InputError BOOT-101, BOOT-104, BOOT-105 for a file that is wrong.
    """
    base = "" if root == Path("/") else str(root)
    config: dict[str, Any] = {}
    for path in [Path(places.inside(base, FILE, is_followed=True)), *_parts(base)]:
        try:
            data = path.read_bytes()[: MAX_FILE_BYTES + 1]
        except OSError:
            continue
        config = merging.fill(documents.read_map(str(path), data), config)
    return people.with_defaults(config, root)


def listed_sources(config: dict[str, Any]) -> list[str]:
    """cloud-init's datasource_list, as far as it is one."""
    found = config.get("datasource_list")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _parts(base: str) -> list[Path]:
    directory = Path(places.inside(base, DIRECTORY, is_followed=True))
    try:
        names = sorted(each.name for each in directory.iterdir() if each.suffix == ".cfg")
    except OSError:
        return []
    return [Path(places.inside(base, f"{DIRECTORY}/{name}", is_followed=True)) for name in names]
