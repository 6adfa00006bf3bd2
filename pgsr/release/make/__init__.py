"""What makes a release: read, charge, draw, write, check; and its outline, for which nothing is opened."""
