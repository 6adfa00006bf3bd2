"""What is planned before a release: its errors on a stand-in, and the epsilon for given errors."""
