"""The command `pgsr` as `python -m pgsr`."""

from pgsr.cli import main

if __name__ == "__main__":
    main()
