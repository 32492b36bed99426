"""Identity: the certificate authority, enrolment of nodes, tokens and roles of people, browser sessions."""
