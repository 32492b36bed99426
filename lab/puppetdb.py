"""A private PuppetDB from Debian's package, with its own PostgreSQL: the peer of the benchmarks of facts and reports.

It listens on loopback without TLS, and so does less work than Precast. Its settings are the package's, except for more memory than 192 MB.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import java_service
from lab.java_service import JavaService
from lab.postgres import USER, PostgresServer
from lab.site import free_port

JAR = Path("/usr/share/puppetdb/puppetdb.jar")
PACKAGED = Path("/etc/puppetdb")
JAVA = ("java", "-Xmx1g", "-Djava.security.egd=/dev/urandom")
CONFIG = """
[global]
vardir = {directory}/var
[database]
subname = //127.0.0.1:{postgres}/puppetdb
username = {user}
password = unused
gc-interval = 0
[jetty]
host = 127.0.0.1
port = {port}
[puppetdb]
disable-update-checking = true
"""

# Every request is allowed, because only loopback reaches the server.
AUTHORISATION = """
authorization: {
    version: 1
    rules: [{
        match-request: {path: "/", type: path}
        allow-unauthenticated: true
        sort-order: 1
        name: "all"
    }]
}
"""


def why_missing() -> str | None:
    """The reason why PuppetDB cannot run on this machine, or None if it can."""
    return java_service.why_missing(JAR, "puppetdb")


class PuppetDb(JavaService):
    """PuppetDB with its own PostgreSQL."""

    def __init__(self, programs: Path | None = None) -> None:
        super().__init__("puppetdb")
        self._postgres_port = free_port()
        self.postgres = PostgresServer(tcp_port=self._postgres_port, programs=programs)

    @property
    def version(self) -> str:
        return str(self.read("/pdb/meta/v1/version")["version"])

    def read(self, path: str) -> Any:
        return json.loads(self.get(path))

    def waiting(self) -> int:
        """The queue depth: how many accepted commands are not processed yet."""
        service = self.read("/status/v1/services/puppetdb-status?level=info")
        return int(service["status"]["queue_depth"])

    def processed(self) -> int:
        """How many commands PuppetDB has stored since it started, without those that failed."""
        counts = [
            self.read(f"/metrics/v2/read/puppetlabs.puppetdb.mq:name=global.{name}/Count")["value"]
            for name in ("processed", "fatal", "discarded")
        ]
        return int(counts[0] - counts[1] - counts[2])

    def prepare(self) -> Sequence[str]:
        self.postgres.__enter__()
        self.postgres.create_database(name="puppetdb")
        (self.place / "var").mkdir()
        config = self.place / "conf.d"
        config.mkdir()
        (config / "auth.conf").write_text(AUTHORISATION)
        (config / "config.ini").write_text(
            CONFIG.format(directory=self.place, postgres=self._postgres_port, port=self.port, user=USER)
        )
        command = [*JAVA, "-cp", str(JAR), "clojure.main", "-m", "puppetlabs.puppetdb.core", "services"]
        return [*command, "--config", str(config), "--bootstrap-config", str(PACKAGED / "bootstrap.cfg")]

    def is_ready(self) -> bool:
        return bool(self.read("/status/v1/services/puppetdb-status")["state"] == "running")

    def remove(self) -> None:
        super().remove()
        self.postgres.remove()
