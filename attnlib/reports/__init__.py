"""Notebooks in, reports out: parameters, execution, rendering."""
