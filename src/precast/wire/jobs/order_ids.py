"""Ids of orders: the job, the number of its task, and the round. Together with the node such an id names one attempt."""

import re
from typing import NamedTuple

# Tasks are numbered from 1.
MAX_TASK = 99_999
_FORM = re.compile(r"([0-9A-Za-z][0-9A-Za-z-]{0,47})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})")


class OrderId(NamedTuple):
    """A parsed id."""

    job: str
    task: int
    n: int

    def __str__(self) -> str:
        return f"{self.job}.{self.task}.{self.n}"


def make_order_id(job: str, task: int, n: int) -> str:
    """The id of the orders of a task in a round."""
    return str(OrderId(job, task, n))


def parse_order_id(text: str) -> OrderId | None:
    """Parse an id; None if the text is no id of an order."""
    matched = _FORM.fullmatch(text)
    return None if matched is None else OrderId(matched[1], int(matched[2]), int(matched[3]))
