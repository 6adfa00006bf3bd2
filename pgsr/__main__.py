"""`python -m pgsr` is the command `pgsr`."""

from pgsr.cli import main

if __name__ == "__main__":
    main()
