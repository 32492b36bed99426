"""Hiera 5: values by key from data files in layers, as Puppet 7.23 finds them."""
