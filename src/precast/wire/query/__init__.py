"""The language of targets and queries: its tokens, parser, terms, fields and patterns."""
