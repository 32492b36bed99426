"""What has to be in a directory before it is the code of an environment: the modules that its Puppetfile names."""

from pathlib import Path

from precast.services import issues_environments as issues

PUPPETFILE = "Puppetfile"


def complete(place: Path) -> None:
    """Raises InputError ENV-023 if modules are named and none are there."""
    if not (place / PUPPETFILE).is_file():
        return
    roots = [one for one in place.glob("*modules") if one.is_dir()]
    if not any(next(root.iterdir(), None) for root in roots):
        raise issues.MODULES_MISSING.error(place=place)
