"""Whether this site's clock can be trusted, which every final act by age asks first."""
