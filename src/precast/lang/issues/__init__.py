"""The errors of the language: code, message and hint of each, one module per stage."""
