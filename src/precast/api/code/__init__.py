"""Routes about environments, their content, and the webhooks that deploy them."""
