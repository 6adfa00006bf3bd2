"""What runs, stores, judges and draws any experiment, whatever it measures."""
