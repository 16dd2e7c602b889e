"""What happens to a decision when parts of a text are removed: requests say which and how, flips what follows."""
