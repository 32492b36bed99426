"""Declares the messages and the kinds of records that nodes send over sessions: what each requires, and which service handles it."""

from typing import TypeVar

from precast.api.http.routes import NODE
from precast.api.sessions.messages import SessionMessages
from precast.services.facts.records import FactRecords
from precast.services.futures import records as future_records
from precast.services.futures.records import FutureRecords
from precast.services.jobs import records as order_records
from precast.services.jobs.records import OrderRecords
from precast.services.reports import reports as report_service
from precast.services.reports.reports import ReportService
from precast.services.sessions.record_intake import RecordIntake, RecordKind
from precast.wire import futures as wire_futures
from precast.wire import sessions as session
from precast.wire.facts import FactUpload
from precast.wire.futures import Bound, Promised, Unpromised, Waiting
from precast.wire.reports import records as wire_reports
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents
from precast.wire.sessions import Ack, Hello, LossBody, Record, Resend, Subscribe

T = TypeVar("T")


def declare_messages(
    facts: FactRecords,
    records: RecordIntake,
    reports: ReportService,
    orders: OrderRecords,
    futures: FutureRecords,
) -> SessionMessages:
    """The messages that a server accepts."""
    messages = SessionMessages({Hello: NODE, Record: NODE, Ack: NODE, Resend: NODE, Subscribe: NODE})
    messages.add(session.FACTS, NODE, RecordKind(FactUpload, facts.prepare, facts.store))
    messages.add(session.LOSS, NODE, RecordKind(LossBody, _unchanged, records.count_losses))
    messages.add(wire_reports.BEGAN, NODE, RecordKind(RunBegan, report_service.prepare_began, reports.store))
    messages.add(wire_reports.EVENTS, NODE, RecordKind(RunEvents, report_service.prepare_events, reports.store))
    messages.add(wire_reports.ENDED, NODE, RecordKind(RunEnded, report_service.prepare_ended, reports.store))
    declare_order_records(messages, orders)
    declare_future_records(messages, futures)
    return messages


def declare_order_records(messages: SessionMessages, orders: OrderRecords) -> None:
    for name, body in order_records.BODIES.items():
        messages.add(name, NODE, RecordKind(body, _unchanged, orders.store, rank=order_records.RANK))


def declare_future_records(messages: SessionMessages, futures: FutureRecords) -> None:
    rank = future_records.RANK
    promised = RecordKind(Promised, future_records.prepare_promised, futures.store, rank)
    messages.add(wire_futures.PROMISED, NODE, promised)
    messages.add(wire_futures.UNPROMISED, NODE, RecordKind(Unpromised, _unchanged, futures.store, rank))
    messages.add(wire_futures.WAITING, NODE, RecordKind(Waiting, _unchanged, futures.store, rank))
    messages.add(wire_futures.BOUND, NODE, RecordKind(Bound, _unchanged, futures.store, rank))


def _unchanged(node: str, body: T) -> T:
    return body
