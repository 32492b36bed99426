"""Hiera 5: looks up values by key in data files of three layers, as Puppet 7.23 does."""
