"""Queries of `puppetdb_query`: PQL and the AST of PuppetDB, read into one form that servers answer."""
