"""Readers: one module per source of texts. Each registers the corpora it can read."""
