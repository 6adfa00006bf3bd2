"""The releases of this toolkit that the benchmark runs, and the methods of Kuo et al. that it has; a file each."""
