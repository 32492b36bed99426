"""Config modules: each is a declaration (keys, needs, order) and one function that brings the machine to what its keys say."""
