"""`python -m attnlib` is the command `attnlib`."""

from attnlib.cli.main import main

if __name__ == "__main__":
    main(prog_name="attnlib")
