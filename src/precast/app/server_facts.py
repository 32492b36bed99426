"""The facts of the server that manifests see."""

import socket
from contextlib import suppress

from precast.app.settings import ServerSettings
from precast.lang.settings import PUPPET_VERSION


def read_server_facts(settings: ServerSettings) -> dict[str, str]:
    """The values of `$server_facts`, which Puppet's server adds to a node's facts. `serverip` is absent if the name does not resolve."""
    name = settings.server_name or next(iter(settings.names), "") or socket.gethostname()
    facts = {"serverversion": PUPPET_VERSION, "servername": name}
    with suppress(OSError):
        facts["serverip"] = socket.gethostbyname(name)
    return facts
