"""A person with the role for commands, who creates actions."""

import os
from datetime import timedelta
from typing import Any, Literal

from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import Credential, PersonRecord
from precast.store.identity.tokens import PersonToken
from precast.wire.actions.bodies import ActionTimes, ActionView, ActionWork, NewAction
from precast.wire.identity import tokens as wire
from precast.wire.jobs.views import JobLimits
from precast.wire.nodes.bodies import TargetsBody
from tests.contract.actions.action_site import ActionSite

UPTIME = ActionWork("command", argv=["uptime", "-p"])


class Commander:
    """A person with the role for commands, and their token."""

    def __init__(self, site: ActionSite, credential: Credential) -> None:
        self.site, self.credential = site, credential
        self.person = Participant("person:cid", "commands", (), credential.record.id)

    async def create(
        self,
        *targets: str,
        work: ActionWork = UPTIME,
        resolve: Literal["now", "start"] = "now",
        limits: JobLimits | None = None,
        **times: Any,
    ) -> ActionView:
        new = NewAction(work, TargetsBody(list(targets)), ActionTimes(**times), limits or JobLimits(), resolve=resolve)
        return await self.site.action_creation.create(new, self.person, self.credential)


async def add_commander(site: ActionSite, signer: SignerClient, valid: timedelta) -> Commander:
    secret = wire.PersonSecret("0" * 36, os.urandom(wire.SECRET_BYTES))
    expires_at = site.now + valid
    record = PersonRecord(secret.id, wire.hash_secret(secret.secret), "cid", "commands", [], expires_at)
    seal = await signer.seal_person(record, None)
    token = PersonToken(record.id, record.secret_hash, "cid", "commands", [], expires_at, seal)
    await site.database.write(site.tokens.add_person_token, token, "test")
    return Commander(site, Credential(str(secret), record, seal))
