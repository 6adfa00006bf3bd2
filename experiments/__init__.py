"""The experiments, one file each: a frozen description, and what it prints, writes and draws."""

if __name__ == "experiments":  # by its folder in a checkout; the package is pgsr.experiments
    from pgsr.machine.checkout import one_name

    one_name(__name__)
