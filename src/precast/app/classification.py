"""Builds the services that classify nodes: the classifier, its rules, and the external node classifier if one is configured."""

from typing import NamedTuple

from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.services.nodes.classification import Classifier
from precast.services.nodes.enc import EncService
from precast.services.nodes.rules import RuleService
from precast.services.work_kinds import ASK_ENC, DECIDE, RECLASSIFY
from precast.store.engine.database import Database
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue


class Classification(NamedTuple):
    """The services that classify nodes."""

    classifier: Classifier
    rules: RuleService
    enc: EncService | None


def build_classification(database: Database, settings: ServerSettings) -> Classification:
    fleet, classifications = Fleet(database), Classifications(database)
    work = WorkQueue(database, [DECIDE, RECLASSIFY, ASK_ENC])
    classifier = Classifier(fleet, classifications, work, has_enc=settings.enc is not None)
    targets, audit = build_target_service(database), build_audit_log(database)
    rules = RuleService(database, fleet, classifications, classifier, targets, work, audit)
    if settings.enc is None:
        return Classification(classifier, rules, None)
    enc = EncService(database, fleet, classifications, classifier, work, settings.enc, settings.enc_every)
    return Classification(classifier, rules, enc)
