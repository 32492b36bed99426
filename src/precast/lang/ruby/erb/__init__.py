"""ERB templates: splits a template into text and Ruby code, and renders it with the Ruby subset."""
