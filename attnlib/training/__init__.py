"""Training a model on a corpus, and the trained model."""
