"""`python -m tiltmeter`: the command, where it is not on the path."""

from tiltmeter.cli import main

if __name__ == "__main__":
    main()
