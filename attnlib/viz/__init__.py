"""Pictures: charts, heat maps, coloured texts, the explorer."""
