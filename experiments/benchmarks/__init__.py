"""The comparisons of methods: side by side, on all problems, by speed and memory, and by size."""
