"""Block groups of the Census of 2000 by their Black people: many sizes, with few groups each."""

from pgsr.experiments.ours.benchmark_data.hawaiian import people

DATA = people("black", "Black")
