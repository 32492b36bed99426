"""Signed code: what an environment requires to be signed before it is deployed, and the check that a deployment meets it.

Only a deployment that the server itself fetches from git can be verified. Where signatures are required, files that a person uploads are
refused, and so is the way back to a version that nobody signed.
"""

import asyncio
import tempfile
from datetime import datetime
from pathlib import Path

from precast.base import digests
from precast.services.code import issues
from precast.services.code.commits.commit_files import verify_files
from precast.services.code.commits.isolated_git import IsolatedGit
from precast.services.code.fetching import FetchedTree
from precast.services.code.signatures import Signer, SigningPolicy, check_policy, verify_signature
from precast.store.code.signing import EnvironmentSigning, StoredSigning
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.wire.code.signing import SigningBody, SigningView

NONE = "none"


class SigningService:
    """Sets and checks what must be signed; holds no state between calls."""

    def __init__(self, database: Database, signing: EnvironmentSigning, audit: AuditLog) -> None:
        self._database, self._signing, self._audit = database, signing, audit

    async def show(self, environment: str) -> SigningView:
        """What an environment requires, and the keys that it allows."""
        stored = await self._database.read(self._signing.find, environment)
        return SigningView(environment, NONE) if stored is None else SigningView(environment, *stored)

    async def set(self, environment: str, body: SigningBody, actor: str) -> SigningView:
        """Set what an environment requires. Raises InputError ENV-029."""
        if body.required != NONE:
            check_policy(SigningPolicy(body.required, body.signers, body.gpg_keys))
        await self._database.write(self._set, environment, body, actor)
        return await self.show(environment)

    async def verify(self, environment: str, fetched: FetchedTree, ref: str) -> Signer | None:
        """Who signed what was fetched; None if the environment requires no signature. Raises DeniedError ENV-028."""
        stored = await self._database.read(self._signing.find, environment)
        if stored is None:
            return None
        now = self._database.clock.now()
        return await asyncio.to_thread(_verify, fetched, ref, SigningPolicy(*stored), now)

    def require(self, environment: str, signer: Signer | None, source: str) -> Transaction[None]:
        """Part of a deployment's transaction: raises DeniedError ENV-041 if a signature is required and there is none."""
        stored = yield from self._signing.find(environment)
        if stored is not None and signer is None:
            raise issues.SIGNED_ONLY.error(environment=environment, required=stored.required, source=source)

    def _set(self, environment: str, body: SigningBody, actor: str) -> Transaction[None]:
        if body.required == NONE:
            yield from self._signing.delete(environment)
        else:
            yield from self._signing.put(environment, StoredSigning(body.required, body.signers, body.gpg_keys))
        keys = digests.of_value([body.signers, body.gpg_keys])
        yield from self._audit.add(actor, "environment.signing", environment, required=body.required, keys=keys)


def _verify(fetched: FetchedTree, ref: str, policy: SigningPolicy, now: datetime) -> Signer:
    """Check the signature of a commit, and that the fetched files are those of the commit."""
    signer = verify_signature(fetched.repository, fetched.commit, ref, policy, now)
    with tempfile.TemporaryDirectory(prefix="commit-") as directory:
        home, scratch = Path(directory, "home"), Path(directory, "files")
        home.mkdir()
        scratch.mkdir()
        git = IsolatedGit(fetched.repository, home)
        verify_files(git, fetched.commit, fetched.tree, fetched.places, scratch)
    return signer
