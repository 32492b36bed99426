"""A PuppetDB of one's own, from Debian's package, with a PostgreSQL beside it: what the fact bench measures itself against.

It listens on loopback without TLS, which spares it work that we do. Its settings are the package's, but for more memory than 192 MB.
"""

import http.client
import json
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.postgres import USER, PostgresServer, die_with_parent
from lab.site import free_port

JAR = Path("/usr/share/puppetdb/puppetdb.jar")
PACKAGED = Path("/etc/puppetdb")
START_S = 300.0
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

# Only loopback reaches it.
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
    """Why there is none on this machine; None if there is."""
    if not JAR.exists():
        return "PuppetDB is not installed (apt-get install puppetdb)"
    if shutil.which("java") is None:
        return "java is not installed (apt-get install default-jre-headless)"
    return None


class PuppetDb:
    """Started by `with`, which takes a minute or two; stopped and removed at its end."""

    def __init__(self, programs: Path | None = None) -> None:
        self.port = free_port()
        self._postgres_port = free_port()
        self.postgres = PostgresServer(tcp_port=self._postgres_port, programs=programs)
        self._directory = Path(tempfile.mkdtemp(prefix="puppetdb-"))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.postgres.__enter__()
            self.postgres.create_database(name="puppetdb")
            self._start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def version(self) -> str:
        return str(self.get("/pdb/meta/v1/version")["version"])

    def get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def waiting(self) -> int:
        """How many commands were taken and are not processed yet."""
        found = self.get("/status/v1/services/puppetdb-status?level=info")
        return int(found["status"]["queue_depth"])

    def processed(self) -> int:
        """How many commands it has stored since it started; those that failed do not count."""
        counts = [
            self.get(f"/metrics/v2/read/puppetlabs.puppetdb.mq:name=global.{name}/Count")["value"]
            for name in ("processed", "fatal", "discarded")
        ]
        return int(counts[0] - counts[1] - counts[2])

    def _start(self) -> None:
        (self._directory / "var").mkdir()
        config = self._directory / "conf.d"
        config.mkdir()
        (config / "auth.conf").write_text(AUTHORISATION)
        (config / "config.ini").write_text(
            CONFIG.format(directory=self._directory, postgres=self._postgres_port, port=self.port, user=USER)
        )
        command = [*JAVA, "-cp", str(JAR), "clojure.main", "-m", "puppetlabs.puppetdb.core", "services"]
        command += ["--config", str(config), "--bootstrap-config", str(PACKAGED / "bootstrap.cfg")]
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=partial(die_with_parent, signal.SIGKILL),
            )
        end_s = time.monotonic() + START_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > end_s:
                raise RuntimeError(f"PuppetDB did not start: {(self._directory / 'log').read_text()[-2000:]}")
            time.sleep(0.5)

    def _is_ready(self) -> bool:
        try:
            return bool(self.get("/status/v1/services/puppetdb-status")["state"] == "running")
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False

    def _remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(60)
        self.postgres.remove()
        shutil.rmtree(self._directory, ignore_errors=True)
