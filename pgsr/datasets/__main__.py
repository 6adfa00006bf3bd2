"""The command line `python -m pgsr.datasets`."""

from pgsr.machine.extras import extra_of_command

with extra_of_command("release"):
    from pgsr.datasets.command import main

if __name__ == "__main__":
    main()
