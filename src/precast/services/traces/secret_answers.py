"""The answers about secrets that walks have met, for one version in memory, and which documents a walk has read.

They are valid for one revision of what the environment has read from its sources. Before walks it is compared with the stored revision; if
they differ, all answers are forgotten. A walk that needs an answer that is not known stops with `NotAnswered`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from precast.base import digests
from precast.lang.inputs import ABSENT, DENIED, Answer
from precast.services.traces.costly_answers import NotAnswered, SecretToRead
from precast.store.secrets.source_documents import DocumentKey, SecretPolicy


class SecretDocuments(Protocol):
    """What the environments of a server may read from secret sources."""

    def allows(self, environment: str, source: str, path: str) -> bool:
        """Whether an environment may read a path of a source."""

    async def find_policy(self, environment: str) -> SecretPolicy:
        """The policy of an environment, with the revision of what it has read."""

    async def read_answers(self, key: DocumentKey, nodes: Iterable[str]) -> Mapping[str, str]:
        """The answers about the fields of a document, with an empty name for the whole. Raises UnavailableError."""


class NoDocuments:
    """A server without secret sources: nothing may be read."""

    def allows(self, environment: str, source: str, path: str) -> bool:
        return False

    async def find_policy(self, environment: str) -> SecretPolicy:
        return SecretPolicy(0, "warn")

    async def read_answers(self, key: DocumentKey, nodes: Iterable[str]) -> Mapping[str, str]:
        raise AssertionError("nothing may be read")


class KnownSecrets:
    """The answers of one version that are known."""

    def __init__(self, environment: str, documents: SecretDocuments) -> None:
        self.environment, self._documents = environment, documents
        self._answers: dict[SecretToRead, Mapping[str, str]] = {}
        self.policy = SecretPolicy(-1, "warn")

    async def refresh(self) -> None:
        """Forget the answers if one of them may have changed."""
        policy = await self._documents.find_policy(self.environment)
        if policy != self.policy:
            self._answers, self.policy = {}, policy

    async def read(self, question: SecretToRead, nodes: Iterable[str]) -> None:
        """Read the answers about a document. Raises UnavailableError if its source has never answered."""
        key = DocumentKey(self.environment, question.source, question.path)
        policy = self.policy
        answers = await self._documents.read_answers(key, nodes)
        # After a change meanwhile the answers may be old ones: then the walk asks again.
        if policy == self.policy:
            self._answers[question] = answers

    def find(self, question: SecretToRead) -> Mapping[str, str] | None:
        """The answers about a document; None if it may not be read. Raises NotAnswered."""
        if not self._documents.allows(self.environment, question.source, question.path):
            return None
        try:
            return self._answers[question]
        except KeyError:
            raise NotAnswered(question) from None


class SecretsOfWalk:
    """The answers for one walk. `read` collects the documents that it has read."""

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self.read: set[str] = set()

    def document(self, source: str, path: str) -> Answer:
        """Raises NotAnswered."""
        answers = self._find(source, path)
        return DENIED if answers is None else True if "" in answers else ABSENT

    def answer(self, source: str, path: str, field: str) -> Answer:
        """Raises NotAnswered."""
        answers = self._find(source, path)
        return DENIED if answers is None else answers.get(field, ABSENT)

    def value(self, source: str, path: str, field: str) -> Any:
        raise AssertionError("a walk needs only answers, not values")

    def policy(self) -> str:
        return self._known.policy.by_facts

    def _find(self, source: str, path: str) -> Mapping[str, str] | None:
        answers = self._known.find(SecretToRead(source, path))
        if answers is not None:
            self.read.add(digests.of_value(DocumentKey(self._known.environment, source, path)))
        return answers


class SecretReads(NamedTuple):
    """The documents that the walks of a node have read, and at which revision of its environment."""

    documents: frozenset[str]
    environment: str
    revision: int
