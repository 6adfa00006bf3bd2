"""The command line `python -m pgsr.datasets`."""

from pgsr.datasets.command import main

if __name__ == "__main__":
    main()
