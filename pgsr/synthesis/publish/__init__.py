"""What publishes a synthetic population: its configuration, folder and check."""
