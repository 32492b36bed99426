"""The home directory of the user who runs this process.

A user without HOME and without an entry in passwd, as in a container that runs as some number, has the root directory as home: so
container runtimes set it too. What such a user may not write there fails like any other file.
"""

import os
from pathlib import Path


def home_directory() -> Path:
    """The home of HOME or passwd; the root directory if neither has one."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - the method of Path raises for a user without a home
    return home if home.is_absolute() else Path("/")


def expand(path: str | Path) -> Path:
    """The path with `~` replaced; that of a user who is not known stays as it is, and is a file that is not found."""
    given = Path(path)
    if given.parts[:1] == ("~",):
        return home_directory().joinpath(*given.parts[1:])
    return Path(os.path.expanduser(given))  # noqa: PTH111 - the method of Path raises for an unknown user
