"""Word-level objectives (Tutek & Šnajder 2020)."""
