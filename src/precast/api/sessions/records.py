"""What nodes send over their sessions, and who takes it."""

from collections.abc import Sequence

from precast.api.http.routes import NODE
from precast.api.sessions.messages import Messages
from precast.base.errors import PrecastError
from precast.services.facts.facts import FactService, Submission
from precast.services.reports import reports as report_service
from precast.services.reports.reports import ReportService
from precast.services.sessions.sessions import RecordKind, SessionService
from precast.store.engine.query import Transaction
from precast.wire import sessions as session
from precast.wire.facts import FactsBody
from precast.wire.reports import records as wire_reports
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents
from precast.wire.sessions import Ack, Hello, LossBody, Record, Resend, Want


def messages_of(facts: FactService, sessions: SessionService, reports: ReportService) -> Messages:
    """Everything that may be said, each with what it requires."""

    def taking_facts(came: Sequence[tuple[str, Submission]]) -> Transaction[Sequence[Want | PrecastError | None]]:
        answers = yield from facts.taking(came)
        return [
            answer if isinstance(answer, PrecastError) else Want(submission.digest) if answer.wants_stable else None
            for (_, submission), answer in zip(came, answers, strict=True)
        ]

    messages = Messages({Hello: NODE, Record: NODE, Ack: NODE, Resend: NODE})
    messages.add(session.FACTS, NODE, RecordKind(FactsBody, facts.prepare, taking_facts))
    messages.add(session.LOSS, NODE, RecordKind(LossBody, lambda node, body: body, sessions.losing))
    messages.add(wire_reports.BEGAN, NODE, RecordKind(RunBegan, report_service.prepare_began, reports.taking))
    messages.add(wire_reports.EVENTS, NODE, RecordKind(RunEvents, report_service.prepare_events, reports.taking))
    messages.add(wire_reports.ENDED, NODE, RecordKind(RunEnded, report_service.prepare_ended, reports.taking))
    return messages
