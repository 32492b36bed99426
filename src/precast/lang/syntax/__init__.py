"""The syntax of the Puppet language: lexer, parser, checker, and the tree they work on."""
