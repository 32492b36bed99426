"""Tables of identity: certificates, enrolment requests, tokens, browser sessions and the audit log."""
