"""The values of the Puppet language, their comparison and their texts; patterns, versions, times and URIs have their own modules."""
