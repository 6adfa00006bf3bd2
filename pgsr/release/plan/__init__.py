"""What is planned before a release: its errors on a stand-in, shares of epsilon, the epsilon for given errors."""
