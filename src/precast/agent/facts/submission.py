"""Facts on their way to a server: digest and volatile part first, the rest only if it is wanted.

By hand they are sent at once, over a request of their own. The daemon's go through its spool, whole only if the server is not known
to have them.
"""

from typing import Any

import msgspec

from precast.agent import issues
from precast.agent.facts.collection import Collection
from precast.agent.facts.machine import Facts
from precast.agent.facts.volatile import is_volatile
from precast.agent.identity.credentials import Credentials
from precast.agent.state.notes import FactsNote
from precast.agent.state.spool import Importance, Spool
from precast.agent.state.store import LocalStore
from precast.base import digests, https
from precast.wire.facts import FactsAnswer, FactsBody, facts_body
from precast.wire.sessions import FACTS


def send(credentials: Credentials, url: str, facts: Facts) -> bool:
    """Send facts; whether the server wanted the stable part. Returns when they are acknowledged.

    Raises NotFoundError AGENT-003 if this machine is no node, and what the server says.
    """
    body = facts_body(*split(facts))
    if not _ask(credentials, url, body.without_stable()).wants_stable:
        return False
    if _ask(credentials, url, body).wants_stable:
        raise issues.NOT_KEPT.error(url=url)
    return True


def spool(store: LocalStore, records: Spool, collected: Collection) -> bool:
    """Have the daemon send facts; whether whole. They are on the disk when this returns.

    Raises InputError AGENT-013 if they are too large, UnavailableError as the store does.
    """
    body = facts_body(*split(collected.facts))
    is_whole = store.standing().facts_digest != body.digest
    sent = msgspec.json.encode(body if is_whole else body.without_stable())
    records.put(FACTS, sent, Importance.ROUTINE, supersedes=True)
    store.note(FactsNote(store.clock.now(), body.digest, len(collected.warnings)))
    return is_whole


def note_sent(store: LocalStore, records: Spool, collected: Collection) -> None:
    """Facts were sent by hand: older ones must not follow them."""
    stable, _ = split(collected.facts)
    digest = digests.of_value(stable)
    records.withdraw(FACTS)
    store.know_facts(digest)
    store.note(FactsNote(store.clock.now(), digest, len(collected.warnings)))


def split(facts: Facts) -> tuple[Facts, Facts]:
    """What stays as it is, and what changes by nature."""
    stable: Facts = {}
    volatile: Facts = {}
    for name, value in facts.items():
        _sort(value, (name,), stable, volatile)
    return stable, volatile


def _sort(value: Any, path: tuple[str, ...], stable: Facts, volatile: Facts) -> None:
    name = path[-1]
    if is_volatile(path):
        volatile[name] = value
    elif isinstance(value, dict):
        inner_stable: Facts = {}
        inner_volatile: Facts = {}
        for key, item in value.items():
            _sort(item, (*path, key), inner_stable, inner_volatile)
        # A mapping stays where something of it does, also if it was empty.
        if inner_stable or not inner_volatile:
            stable[name] = inner_stable
        if inner_volatile:
            volatile[name] = inner_volatile
    else:
        stable[name] = value


def _ask(credentials: Credentials, url: str, body: FactsBody) -> FactsAnswer:
    came = https.call(url, credentials.context(), "POST", "/v1/facts", msgspec.json.encode(body))
    return https.read_answer(url, came, FactsAnswer)
