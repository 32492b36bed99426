"""Runs every scene. The exit code is 0 only if every claim was checked and true."""

import sys
import tempfile
from pathlib import Path

from demo import apply, boot, identity, language, net, store, work_queue
from demo.presenter import DemoFailed, Presenter
from lab.postgres import PostgresServer


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="precast-demo-") as name:
        return run(Presenter(Path(name)))


def run(presenter: Presenter) -> int:
    try:
        with PostgresServer() as server:
            store.show(presenter, server)
            work_queue.show(presenter, str(presenter.directory / "work.db"), "SQLite")
            work_queue.show(presenter, server.url(server.create_database()), "PostgreSQL")
        net.show(presenter)
        language.show(presenter)
        apply.show(presenter)
        boot.show(presenter)
        identity.show(presenter)
    except DemoFailed as failure:
        presenter.event(f"the demo failed: {failure}")
        return 1
    except KeyboardInterrupt:
        presenter.event("interrupted")
        return 130
    presenter.title(f"Everything was real, and took {presenter.elapsed_s():.0f} s")
    presenter.say("Read more: README.md, docs/README.md. Try it: .venv/bin/precast db --help")
    return 0


if __name__ == "__main__":
    sys.exit(main())
