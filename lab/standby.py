"""A standby of a private PostgreSQL server: a copy that follows it, and can be promoted."""

import subprocess
import time

from lab.postgres import PostgresServer, unprivileged


class Standby(PostgresServer):
    """Starts as a copy of a running server, over streaming replication, and follows it until it is promoted."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__(settings={"hot_standby": "on"})
        self._primary = primary

    def _initialise(self) -> None:
        command = [
            str(self._programs / "pg_basebackup"),
            "-d",
            self._primary.url(),
            "-D",
            str(self.data),
            "-R",
            "-c",
            "fast",
        ]
        made = subprocess.run(
            [*unprivileged(), *command], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        if made.returncode:
            raise RuntimeError(f"pg_basebackup failed: {made.stderr.strip()}")

    def promote(self, deadline_s: float = 30.0) -> None:
        """Make it a primary of its own, and wait until it is one."""
        self.query("SELECT pg_promote(true, 30)")
        end_s = time.monotonic() + deadline_s
        while self.query("SELECT pg_is_in_recovery()") != "f":
            if time.monotonic() > end_s:
                raise RuntimeError("the standby was not promoted")
            time.sleep(0.05)

    def wait_for(self, sql: str, expected: str, database: str = "postgres", deadline_s: float = 30.0) -> None:
        """Wait until a query on the standby has this answer: until it has caught up."""
        end_s = time.monotonic() + deadline_s
        while self.query(sql, database) != expected:
            if time.monotonic() > end_s:
                raise RuntimeError(f"the standby does not answer {sql} with {expected}")
            time.sleep(0.05)

    def query(self, sql: str, database: str = "postgres") -> str:
        """The first column of the first row of a query, as psql prints it."""
        asked = subprocess.run(
            [self._programs / "psql", "--quiet", "--no-psqlrc", "-tA", "-c", sql, self.url(database)],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return asked.stdout.strip()
