"""Who says what nodes are: everybody's word, the rules, and the external classifier if there is one."""

from typing import NamedTuple

from precast.app.parts import audit_log, target_service
from precast.app.settings import ServerSettings
from precast.services.nodes.classification import Classifier
from precast.services.nodes.enc import EncService
from precast.services.nodes.rules import RuleService
from precast.services.work_kinds import ASK_ENC, DECIDE, RECLASSIFY
from precast.store.engine.database import Database
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue


class Classification(NamedTuple):
    """Those who say it."""

    classifier: Classifier
    rules: RuleService
    enc: EncService | None


def classification(database: Database, settings: ServerSettings) -> Classification:
    fleet, said = Fleet(database), Classifications(database)
    work = WorkQueue(database, [DECIDE, RECLASSIFY, ASK_ENC])
    classifier = Classifier(fleet, said, work, has_enc=settings.enc is not None)
    targets, audit = target_service(database), audit_log(database)
    rules = RuleService(database, fleet, said, classifier, targets, work, audit)
    if settings.enc is None:
        return Classification(classifier, rules, None)
    enc = EncService(database, fleet, said, classifier, work, settings.enc, settings.enc_every)
    return Classification(classifier, rules, enc)
