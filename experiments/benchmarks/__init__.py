"""Methods against each other: side by side, on all problems, by speed and memory, by size."""
