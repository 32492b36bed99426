"""Routes about nodes: targets, classification and its rules, policies, and the status of the site."""
