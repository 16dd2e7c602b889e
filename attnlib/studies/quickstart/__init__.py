"""The question of the five papers, in small."""
