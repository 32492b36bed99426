"""What Precast does, without HTTP and without SQL text."""
