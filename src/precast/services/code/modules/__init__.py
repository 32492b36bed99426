"""Installs the modules that a Puppetfile names, from git or from a directory of tarballs."""
