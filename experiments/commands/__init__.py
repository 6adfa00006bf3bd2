"""The commands of `python -m pgsr.experiments`. Text becomes values here and nowhere else."""
