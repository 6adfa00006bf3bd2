"""The command `pgsr`, also as `python -m pgsr`: without the packages of its extra, a sentence that names it."""

import sys

from pgsr.machine.extras import extra_of_command


def main() -> None:
    """Run the command line; exit code 2 if its packages are not installed."""
    with extra_of_command("release"):
        from pgsr import cli

        if sys.argv[1:2] in ([], ["--help"], ["compare"]):  # which takes a second
            from pgsr.experiments.commands.comparison import OF_PGSR, compare_table

            cli.app.command(**OF_PGSR)(compare_table)
    cli.main()


if __name__ == "__main__":
    main()
