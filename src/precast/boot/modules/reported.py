"""Keys of cloud-init that Precast does not run, each with the reason: they are reported, one by one, and the rest goes on."""

REPORTED: dict[str, str] = {}
