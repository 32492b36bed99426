"""Routes about the authority, enrolment, certificates, certificate requests, tokens and the audit log."""
