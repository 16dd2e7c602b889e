"""What it takes to flip a decision: tokens removed in the order of a ranking."""
