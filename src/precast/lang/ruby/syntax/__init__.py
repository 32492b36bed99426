"""Reads the Ruby subset: the lexer makes tokens of code, the parser makes a tree of tokens.

Code outside of the subset is refused with its name and position. Neither ERB tags nor whole files are known here: `erb.parser` and
`declarations.file_lexer` bring their own tokens.
"""
