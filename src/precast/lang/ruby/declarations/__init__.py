"""Reads what Ruby files declare without running them: types and facts of modules, and the modules of a Puppetfile.

A file is lexed and outlined; expressions are evaluated only as far as the text alone determines their value.
"""
