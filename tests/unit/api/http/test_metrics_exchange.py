"""The metrics of several workers as one text."""

import os
from pathlib import Path

from precast.api.http.metrics_exchange import STALE_S, MetricsExchange, merge

FIRST = """# HELP requests_total Requests answered.
# TYPE requests_total counter
requests_total{route="/a",status="200"} 3
# HELP sessions Nodes.
# TYPE sessions gauge
sessions 5
"""
SECOND = FIRST.replace(" 3\n", ' 4\nrequests_total{route="/b",status="404"} 1\n').replace("sessions 5", "sessions 0")


def test_merge_labels_each_sample_and_groups_samples_by_name() -> None:
    assert merge({2: SECOND, 1: FIRST}) == (
        "# HELP requests_total Requests answered.\n"
        "# TYPE requests_total counter\n"
        'requests_total{worker="1",route="/a",status="200"} 3\n'
        'requests_total{worker="2",route="/a",status="200"} 4\n'
        'requests_total{worker="2",route="/b",status="404"} 1\n'
        "# HELP sessions Nodes.\n"
        "# TYPE sessions gauge\n"
        'sessions{worker="1"} 5\n'
        'sessions{worker="2"} 0\n'
    )


def test_exchange_shows_own_current_metrics_and_those_of_living_workers(tmp_path: Path) -> None:
    first, second = MetricsExchange(tmp_path, 1), MetricsExchange(tmp_path, 2)
    first.publish(FIRST.replace(" 3\n", " 1\n"))
    second.publish(SECOND)
    assert first.gather(FIRST) == merge({1: FIRST, 2: SECOND})
    old = (tmp_path / "metrics-2").stat().st_mtime - STALE_S - 1
    os.utime(tmp_path / "metrics-2", (old, old))
    assert first.gather(FIRST) == merge({1: FIRST})
