"""``python -m active_critic``: the command line where its script is not on the path."""

import sys

from active_critic.cli import main

if __name__ == "__main__":
    sys.exit(main())
