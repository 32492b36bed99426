"""How Hypothesis runs here: no deadline, because a busy machine is not a failure; what failed can be run again from the output."""

from hypothesis import settings

settings.register_profile("precast", deadline=None, print_blob=True)
settings.load_profile("precast")
