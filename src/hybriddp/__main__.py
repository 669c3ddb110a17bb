"""``python -m hybriddp``: the command line."""

from hybriddp.cli import main

if __name__ == "__main__":
    main()
