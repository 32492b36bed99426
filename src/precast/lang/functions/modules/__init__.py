"""Functions that modules write in Ruby, in Python: one file per theme, each loaded when a function of it is first called."""
