"""``python -m closeknit``: the command line."""

from closeknit.cli import main

if __name__ == "__main__":
    main()
