"""Runs every scene. Exit code 0 only if everything that was shown was true."""

import sys
import tempfile
from pathlib import Path

from demo import apply, boot, identity, language, net, store, work
from demo.stage import DemoFailed, Stage
from lab.postgres import PostgresServer


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="precast-demo-") as name:
        return run(Stage(Path(name)))


def run(stage: Stage) -> int:
    try:
        with PostgresServer() as server:
            store.show(stage, server)
            work.show(stage, str(stage.directory / "work.db"), "SQLite")
            work.show(stage, server.url(server.create_database()), "PostgreSQL")
        net.show(stage)
        language.show(stage)
        apply.show(stage)
        boot.show(stage)
        identity.show(stage)
    except DemoFailed as failure:
        stage.event(f"not true: {failure}")
        return 1
    except KeyboardInterrupt:
        stage.event("interrupted")
        return 130
    stage.title(f"All of it was real, and took {stage.elapsed_s():.0f} s")
    stage.say("Read on: README.md, docs/README.md. Try it: .venv/bin/precast db --help")
    return 0


if __name__ == "__main__":
    sys.exit(main())
