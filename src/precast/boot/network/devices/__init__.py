"""The network devices of the running machine: list, rename and temporarily bring them up, without external programs."""
