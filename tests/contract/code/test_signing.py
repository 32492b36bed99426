"""Environments that require signed code, on both databases: nothing without a signer becomes current there."""

from pathlib import Path

import pytest

from precast.base import digests
from precast.services.code.file_trees import FileTree
from precast.services.code.signatures import Signer
from precast.services.code.signing import SigningService
from precast.store.code.signing import EnvironmentSigning
from precast.store.engine.database import Database
from precast.wire.code.environments import DeployBody, VersionRollback
from precast.wire.code.signing import SigningBody, SigningView
from tests.contract.code.test_environments import SCOPE, Site, code_of, parts, tree_of

SIGNERS = "ann@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ\n"
ANN = Signer("ann@example.com", "SHA256:abc")


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Site:
    return Site(database, tmp_path)


@pytest.fixture
def signing(site: Site) -> SigningService:
    return SigningService(site.database, EnvironmentSigning(site.database), site.audit)


async def upload(site: Site, text: str) -> FileTree:
    tree = tree_of({"site": text})
    await site.content.receive(parts(text.encode(), tree.encode()), SCOPE)
    return tree


async def test_upload_is_refused_where_code_must_be_signed(site: Site, signing: SigningService) -> None:
    await site.deploy("production", site="# one")
    await signing.set("production", SigningBody("commit", SIGNERS), "person:ann")
    tree = await upload(site, "# two")
    body = DeployBody(tree.version, "from a laptop", "a" * 40)
    assert await code_of(site.service.deploy("production", body, "person:eve", ())) == "ENV-041"
    current = await site.environments.find_current("production")
    assert current is not None
    assert (current.number, current.signer) == (1, None)


async def test_signer_is_recorded_with_the_version_and_audited(site: Site, signing: SigningService) -> None:
    await signing.set("production", SigningBody("tag", SIGNERS), "person:ann")
    tree = await upload(site, "# one")
    answer = await site.service.deploy("production", DeployBody(tree.version), "hook:production", (), ANN)
    assert (answer.current.signer, answer.current.signing_key) == ANN
    deployed, required = await site.audit.read_latest()
    assert (deployed.action, deployed.detail["signer"], deployed.detail["key"]) == ("environment.deploy", *ANN)
    assert (required.action, required.detail["required"]) == ("environment.signing", "tag")
    assert required.detail["keys"] == digests.of_value([SIGNERS, ""])


async def test_way_back_to_a_version_that_nobody_signed_is_refused(site: Site, signing: SigningService) -> None:
    await site.deploy("production", site="# unsigned")
    await signing.set("production", SigningBody("commit", SIGNERS), "person:ann")
    for text in ("# first signed", "# second signed"):
        tree = await upload(site, text)
        await site.service.deploy("production", DeployBody(tree.version), "hook:production", (), ANN)
    assert await code_of(site.service.roll_back("production", VersionRollback(1), "person:ann")) == "ENV-041"
    answer = await site.service.roll_back("production", VersionRollback(2), "person:ann")
    assert (answer.current.number, answer.current.signer) == (4, ANN.principal)


async def test_requirement_is_shown_changed_and_ended(signing: SigningService) -> None:
    assert await signing.show("production") == SigningView("production", "none")
    await signing.set("production", SigningBody("commit", SIGNERS), "person:ann")
    assert await signing.show("production") == SigningView("production", "commit", SIGNERS)
    assert await code_of(signing.set("production", SigningBody("commit"), "person:ann")) == "ENV-029"
    await signing.set("production", SigningBody("none"), "person:ann")
    assert await signing.show("production") == SigningView("production", "none")
