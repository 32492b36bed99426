"""Rows of 20 KB into SQLite through SQLAlchemy Core: one transaction each, and a group in one. Runs in .venv-peers.

usage: rows_sqlalchemy.py FILE COUNT GROUP
"""

import json
import os
import sys
import time

import sqlalchemy as sa  # type: ignore[import-not-found,unused-ignore]

BODY = os.urandom(20_000)


def main() -> None:
    path, count, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    engine = sa.create_engine(f"sqlite:///{path}")

    @sa.event.listens_for(engine, "connect")  # type: ignore[untyped-decorator,unused-ignore]
    def prepare(connection: object, record: object) -> None:
        connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[attr-defined]
        connection.execute("PRAGMA synchronous = FULL")  # type: ignore[attr-defined]

    table = sa.Table(
        "row", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("body", sa.LargeBinary)
    )
    table.create(engine)
    started, cpu = time.perf_counter(), time.process_time()
    with engine.connect() as connection:
        for first in range(0, count, group):
            with connection.begin():
                for _ in range(first, first + group):
                    connection.execute(sa.insert(table), {"body": BODY})
    print(
        json.dumps(
            {"per_s": count / (time.perf_counter() - started), "cpu_us": (time.process_time() - cpu) / count * 1e6}
        )
    )


if __name__ == "__main__":
    main()
