"""Puts the modules that a Puppetfile names in place: from git, from a directory of tarballs."""
