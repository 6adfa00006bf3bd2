"""The part that runs, stores, judges and draws any experiment, whatever it measures."""
