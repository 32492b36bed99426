"""The parts of Ruby's standard library, and of the C library below it, whose results Puppet's functions show: IPAddr, File, JSON, YAML…"""
