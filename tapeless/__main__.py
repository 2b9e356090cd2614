"""`python -m tapeless script.py`: see `tapeless/dropin`."""

import sys

from tapeless.dropin.run import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
