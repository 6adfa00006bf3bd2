"""The experiments that belong to no paper, on the benefit of this toolkit's exact optima."""
