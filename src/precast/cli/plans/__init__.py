"""The commands of `precast plan`."""
