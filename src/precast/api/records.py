"""What nodes send over their sessions, and who takes it."""

from precast.api.messages import Messages
from precast.api.routes import NODE
from precast.services import facts as fact_service
from precast.services.facts import FactService, Submission
from precast.services.sessions import RecordKind, SessionService
from precast.store.query import Unit
from precast.wire import session
from precast.wire.facts import FactsBody
from precast.wire.session import Ack, Hello, LossBody, Record, Resend, Want


def messages_of(facts: FactService, sessions: SessionService) -> Messages:
    """Everything that may be said, each with what it requires."""

    def taking_facts(node: str, submission: Submission) -> Unit[Want | None]:
        answer = yield from facts.taking(node, submission)
        return Want(submission.digest) if answer.wants_stable else None

    def taking_loss(node: str, body: LossBody) -> Unit[Want | None]:
        yield from sessions.losing(node, body)
        return None

    messages = Messages({Hello: NODE, Record: NODE, Ack: NODE, Resend: NODE})
    messages.add(session.FACTS, NODE, RecordKind(FactsBody, fact_service.prepare, taking_facts))
    messages.add(session.LOSS, NODE, RecordKind(LossBody, lambda node, body: body, taking_loss))
    return messages
