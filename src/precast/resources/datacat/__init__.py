"""datacat: data of many fragments, merged, becomes a parameter of another resource. `merging` does that, `handlers` are the two types."""
