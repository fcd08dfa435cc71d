"""`python -m clinometer`: the command, where it is not on the path."""

from clinometer.cli import main

if __name__ == "__main__":
    main()
