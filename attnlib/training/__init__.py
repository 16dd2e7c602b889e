"""Training a model on a corpus, and what comes of it."""
