"""Every table that a backup contains, with its columns and key. A test compares this list with the real schema."""

from typing import NamedTuple

from precast.store.engine.query import Query, Row, Statement

# How many rows are read at once, unless they are large.
PAGE_ROWS = 200


class Table(NamedTuple):
    """A table. The columns of the key come first and give a total order."""

    name: str
    key: tuple[str, ...]
    others: tuple[str, ...]
    page_rows: int = PAGE_ROWS

    @property
    def columns(self) -> tuple[str, ...]:
        return self.key + self.others

    def first_page(self, limit: int) -> Statement:
        sql = f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {', '.join(self.key)} LIMIT :limit"
        return Query(f"tables.{self.name}.first", sql)(limit=limit)

    def page_after(self, row: Row, limit: int) -> Statement:
        """Make the statement that reads the rows after this one, which has the table's columns."""
        key, after = ", ".join(self.key), ", ".join(f":{name}" for name in self.key)
        sql = f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE ({key}) > ({after}) ORDER BY {key} LIMIT :limit"
        return Query(f"tables.{self.name}.next", sql)(limit=limit, **dict(zip(self.key, row, strict=False)))

    def insert(self, columns: list[str]) -> Query:
        values = ", ".join(f":{name}" for name in columns)
        return Query(f"tables.{self.name}.insert", f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES ({values})")


# Parents before children, because a restore inserts in this order.
TABLES: tuple[Table, ...] = (
    Table(
        "work_item",
        ("kind", "key"),
        (
            "lane",
            "payload",
            "generation",
            "turn",
            "due_at",
            "ready_at",
            "queued_at",
            "attempts",
            "last_error",
            "owner",
            "fence",
            "claimed_generation",
        ),
    ),
    Table("work_dead", ("kind", "key"), ("lane", "payload", "attempts", "last_error", "queued_at", "died_at")),
    Table("authority", ("fingerprint",), ("added_at",)),
    Table("node", ("name",), ("created_at", "deactivated_at", "environment", "role", "classes", "parameters")),
    Table(
        "certificate",
        ("fingerprint",),
        (
            *("serial", "node", "key_digest", "extensions", "issued_at", "not_after", "revoked_at", "revoked_why"),
            *("authority", "seen_at", "superseded_at"),
        ),
    ),
    Table(
        "enrolment_request",
        ("node", "key_digest"),
        ("request", "address", "network", "requested_at", "expires_at", "certificate", "rejected_at"),
    ),
    Table(
        "enrolment_token",
        ("id",),
        (
            *("secret_hash", "pattern", "extensions", "uses", "uses_left"),
            *("expires_at", "seal", "created_at", "created_by", "revoked_at"),
        ),
    ),
    Table(
        "person_token",
        ("id",),
        (
            *("secret_hash", "person", "role", "environments"),
            *("expires_at", "seal", "created_at", "created_by", "revoked_at"),
        ),
    ),
    Table("web_session", ("id",), ("secret_hash", "token", "created_at", "expires_at")),
    Table("fact_inbox", ("node",), ("digest", "stable", "volatile", "received_at")),
    Table(
        "fact_set",
        ("node",),
        ("digest", "stable", "received_at", "decision", "decided_at", "allowed_at", "recent"),
    ),
    Table("fact_brief", ("node",), ("digest", "body")),
    Table("fact_volatile", ("node",), ("body", "received_at", "submissions")),
    Table("fact_change", ("node", "at", "path"), ("before", "after")),
    Table("server", ("id",), ("name", "started_at", "lease_until", "connections")),
    Table(
        "session",
        ("node",),
        (
            *("epoch", "server", "instance", "attempts", "machine_id", "machine", "address", "boot_id", "agent"),
            *("connected_at", "disconnected_at", "lost", "held_at"),
        ),
    ),
    Table("session_stream", ("node", "instance"), ("received", "at")),
    Table(
        "session_machine",
        ("node", "machine"),
        (
            *("instance", "attempts", "machine_id", "boot_id", "address", "agent"),
            *("given", "first_at", "last_at", "refused_at"),
        ),
    ),
    Table("fact_history", ("node", "at"), ("count", "changes")),
    Table("blob", ("digest",), ("size", "created_at", "whole_at")),
    Table("blob_chunk", ("digest", "number"), ("data",), page_rows=8),
    Table("blob_reference", ("digest", "owner"), ()),
    Table("content_upload", ("environment", "digest"), ("uploaded_at",)),
    Table("environment_signing", ("environment",), ("required", "signers", "gpg_keys", "changed_at")),
    Table(
        "environment",
        ("name",),
        ("version", "number", "policy", "changed_at", "release_approvals", "action_approvals", "exports"),
    ),
    Table(
        "environment_version",
        ("environment", "number"),
        ("version", "source", "commit_id", "deployed_by", "deployed_at", "signer", "signing_key"),
    ),
    Table(
        "node_said",
        ("node", "source"),
        ("detail", "environment", "role", "classes", "parameters", "said_at", "problem", "problem_at"),
    ),
    Table(
        "node_rule",
        ("number",),
        ("name", "extensions", "environment", "role", "classes", "parameters", "created_by", "created_at"),
    ),
    Table("document", ("digest",), ("body", "size", "stored_at")),
    Table("secret_key", ("environment",), ("master", "wrapped", "made_at")),
    Table("secret_holder", ("server",), ("name", "masters", "seen_at")),
    Table("secret", ("environment", "ref"), ("sealed", "stored_at")),
    Table("secret_use", ("document", "environment", "ref"), ()),
    Table(
        "trace_chain",
        ("id",),
        (
            "environment",
            "parent",
            "position",
            "answer",
            "links",
            "leaf",
            "made_at",
            "used_at",
            "value",
            "catalog",
            "source_map",
        ),
    ),
    Table("compile_waiter", ("branch", "node", "entry"), ("since",)),
    Table(
        "node_catalog",
        ("node",),
        (
            "environment",
            "version",
            "facts",
            "chain",
            "skeleton",
            "digest",
            "fill",
            "decided_at",
            "changed_at",
            "problems",
        ),
    ),
    Table(
        "entry_catalog",
        ("node", "entry"),
        (
            *("wanted_at", "environment", "version", "chain", "skeleton", "digest", "fill", "decided_at"),
            *("problems", "trouble"),
        ),
    ),
    Table(
        "entry_hold",
        ("job", "node", "entry"),
        ("digest", "skeleton", "fill", "environment", "version", "held_at"),
    ),
    Table(
        "release_log",
        ("number",),
        ("kind", "began_at", "finished_at", "actor", "why", "targets", "point", "request", "nodes", "versions"),
    ),
    Table(
        "node_release",
        ("node", "number"),
        (
            *("digest", "skeleton", "fill", "environment", "version", "released_at", "released_by"),
            *("release", "origin", "origin_release", "parent", "commit_id"),
        ),
    ),
    Table(
        "report",
        ("id",),
        (
            *(
                "node",
                "state",
                "mode",
                "reason",
                "order_id",
                "catalog",
                "release",
                "environment",
                "version",
                "resources",
            ),
            *(
                "changed",
                "pending",
                "failed",
                "skipped",
                "waiting",
                "corrective",
                "is_complete",
                "is_stale",
                "events",
                "got",
            ),
            *("began_at", "ended_at", "took", "received_at", "heard_at", "why", "detail"),
        ),
    ),
    Table("report_page", ("report", "first", "at"), ("last", "body"), page_rows=8),
    Table("report_event", ("report", "number", "at"), ("node", "resource", "status", "is_corrective", "message")),
    Table(
        "node_change",
        ("node",),
        ("at", "environment", "old_version", "version", "old_digest", "digest", "told", "number"),
    ),
    Table("fact_flap", ("node", "path"), ("times", "since", "last_at")),
    Table("node_policy", ("node",), ("serial", "enforce", "windows", "set_by", "set_at", "seal")),
    Table("catalog_export", ("skeleton",), ("resources",)),
    Table("exported_resource", ("node", "state", "id"), ("type", "environment", "body")),
    Table(
        "export_type",
        ("environment", "state", "type"),
        ("generation", "announced", "announced_at", "crowding", "round", "cause_node", "cause_title"),
    ),
    Table("export_collector", ("node", "type"), ("environment", "state")),
    Table(
        "export_round",
        ("node", "state"),
        ("round", "cause_node", "cause_type", "cause_title", "stopped_at", "loop"),
    ),
    Table("fleet_answer", ("environment", "id"), ("query", "digest", "answer", "changed_at", "allowed_at", "told"), 4),
    Table("fleet_reader", ("node", "environment", "query"), ()),
    Table("catalog_index", ("skeleton",), ("id", "indexed_at")),
    Table("catalog_resource", ("id",), ("type", "title_key", "body")),
    Table("catalog_value", ("name", "value_key", "type", "resource"), ()),
    Table("catalog_member", ("resource", "catalog"), ()),
    Table("audit_chain", ("chain",), ("sequence", "hash")),
    Table("audit", ("id",), ("at", "actor", "action", "target", "detail", "chain", "sequence", "previous", "hash")),
    Table("audit_rate", ("actor",), ("hour", "count")),
    Table("stream", ("name",), ("last", "trimmed")),
    Table("stream_record", ("stream", "number"), ("body", "at")),
    Table(
        "job",
        ("id",),
        (
            *(
                "kind",
                "body",
                "environment",
                "action",
                "work",
                "made_by",
                "made_at",
                "state",
                "stopped_by",
                "ended_at",
                "nodes",
            ),
            *("round", "changes", "owner", "fence", "wake_at"),
        ),
    ),
    Table(
        "attempt",
        ("job", "task", "node", "n"),
        (
            *("is_newest", "place", "batch", "state", "reason", "number", "queued_at", "due_at", "until_at", "allowed"),
            *("ordered_at", "claimed_at", "claim", "instance", "tries", "looked_at", "picked_at", "ended_at", "late"),
            *("report", "message", "result", "seal", "phase", "futures"),
        ),
    ),
    Table("job_output", ("job", "task", "node", "n", "first"), ("number", "lines", "total", "at")),
    Table("node_lock", ("node",), ("job", "task", "n", "since")),
    Table("attempt_wait", ("job", "task", "node", "n", "for_job", "for_task", "for_node"), ("since",)),
    Table("catalog_future", ("document", "role", "key"), ("scope",)),
    Table(
        "standing_value",
        ("environment", "key", "node"),
        (
            *("source", "number", "value", "is_sensitive", "digest", "instance", "fence", "said_by", "fulfilled_at"),
            *("changed_at", "expires_at"),
        ),
    ),
    Table(
        "job_promise",
        ("job", "key", "node", "task"),
        (
            *("n", "environment", "state", "number", "value", "is_sensitive", "digest", "reason", "changed_at"),
            "expires_at",
        ),
    ),
    Table("future_wait", ("job", "task", "node", "n", "resource", "key"), ("is_idle", "since", "due_at")),
    Table(
        "future_binding",
        ("job", "key", "producer", "node", "task", "n", "resource"),
        ("number", "is_standing", "bound_at"),
    ),
    Table("plan_run", ("job",), ("plan", "digest", "document")),
    Table("plan_program", ("job", "task", "digest"), ("program", "nodes")),
    Table("plan_data", ("digest",), ("body", "stored_at")),
    Table("plan_run_data", ("job", "node"), ("data",)),
    Table("plan_success", ("environment", "plan", "task", "node"), ("data", "at")),
    Table("plan_approval", ("job", "task"), ("by", "at")),
    Table("task_content", ("job", "node", "digest"), ("size",)),
    Table("task_collection", ("job", "task"), ()),
    Table(
        "approval_request",
        ("id",),
        (
            *("kind", "environment", "subject", "digest", "payload", "needed", "requested_by", "token", "why"),
            *("requested_at", "expires_at", "state", "ended_at", "outcome"),
        ),
    ),
    Table("clock_mark", ("id",), ("at", "boot_id", "boot", "confirmed", "lowest_at", "corrected_at")),
    Table("approval_decision", ("request", "person"), ("approves", "token", "why", "decided_at")),
    Table(
        "action",
        ("id",),
        (
            *("name", "kind", "body", "environment", "made_by", "token", "made_at", "state", "request", "approvals"),
            *("event", "next_at", "ended_at", "message"),
        ),
    ),
    Table("action_node", ("action", "place"), ("node", "seal")),
    Table("action_due", ("action", "due_at", "node"), ("cause", "state", "count", "job", "message", "decided_at")),
    Table(
        "maintenance_window",
        ("name",),
        (
            *("kind", "is_blackout", "source", "zone", "digest"),
            *("made_by", "made_at", "changed_by", "changed_at"),
        ),
    ),
    Table(
        "source_document",
        ("id",),
        ("environment", "source", "path", "sealed", "answers", "read_at", "tried_at", "due_at", "problem"),
    ),
    Table("secret_reader", ("document", "node"), ()),
    Table("secret_policy", ("environment",), ("revision", "by_facts")),
    Table("window_binding", ("name", "target"), ("classes", "at_close", "bound_by", "bound_at")),
)
