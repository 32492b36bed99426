"""Sends facts to a server: the digest and the volatile part first, the stable part only if the server wants it.

`precast agent facts` sends them at once, in a request of their own. The daemon's facts go through its spool, with the stable part only
if the server is not known to have it.
"""

from typing import Any

import msgspec

from precast.agent import issues
from precast.agent.facts import consent
from precast.agent.facts.collection import Collection
from precast.agent.facts.machine import Facts
from precast.agent.facts.volatile import is_volatile
from precast.agent.network.http_client import HttpClient
from precast.agent.state.spool import Importance, Spool
from precast.agent.state.status_notes import FactsNote
from precast.agent.state.store import LocalStore
from precast.base import digests, https
from precast.wire.facts import FactsAnswer, FactUpload, make_upload
from precast.wire.sessions import FACTS


def send_facts(client: HttpClient, url: str, facts: Facts) -> bool:
    """Send facts and wait until they are acknowledged; whether the server wanted the stable part.

    Raises the server's error.
    """
    body = make_upload(*split_facts(facts))
    if not _ask(client, url, body.without_stable()).wants_stable:
        return False
    if _ask(client, url, body).wants_stable:
        raise issues.NOT_KEPT.error(url=url)
    return True


def spool_facts(store: LocalStore, records: Spool, collected: Collection) -> bool:
    """Put facts into the spool, flushed to the disk; whether the stable part is included.

    Raises InputError AGENT-013 if they are too large, UnavailableError as the store does.
    """
    body = make_upload(*split_facts(collected.facts))
    is_whole = store.session_state().facts_digest != body.digest
    sent = msgspec.json.encode(body if is_whole else body.without_stable())
    records.put(FACTS, sent, Importance.ROUTINE, supersedes=True)
    store.write_note(_describe(store, body.digest, collected))
    return is_whole


def note_sent(store: LocalStore, records: Spool, collected: Collection) -> None:
    """Note that facts were sent outside the spool, and withdraw older facts from the spool."""
    stable, _ = split_facts(collected.facts)
    digest = digests.of_value(stable)
    records.withdraw(FACTS)
    store.set_facts_digest(digest)
    store.write_note(_describe(store, digest, collected))


def _describe(store: LocalStore, digest: str, collected: Collection) -> FactsNote:
    is_allowed = consent.allows_commands(collected.facts)
    return FactsNote(store.clock.now(), digest, len(collected.warnings), is_allowed)


def split_facts(facts: Facts) -> tuple[Facts, Facts]:
    """Split facts into the stable and the volatile part."""
    stable: Facts = {}
    volatile: Facts = {}
    for name, value in facts.items():
        _add_fact(value, (name,), stable, volatile)
    return stable, volatile


def _add_fact(value: Any, path: tuple[str, ...], stable: Facts, volatile: Facts) -> None:
    """Add a fact to the part it belongs to; the members of a mapping may belong to both."""
    name = path[-1]
    if is_volatile(path):
        volatile[name] = value
    elif isinstance(value, dict):
        inner_stable: Facts = {}
        inner_volatile: Facts = {}
        for key, item in value.items():
            _add_fact(item, (*path, key), inner_stable, inner_volatile)
        # An empty mapping is stable.
        if inner_stable or not inner_volatile:
            stable[name] = inner_stable
        if inner_volatile:
            volatile[name] = inner_volatile
    else:
        stable[name] = value


def _ask(client: HttpClient, url: str, body: FactUpload) -> FactsAnswer:
    return https.read_answer(url, client.post(url, "/v1/facts", msgspec.json.encode(body)), FactsAnswer)
