"""The libraries are installed by `make test-eco` only: elsewhere these tests are not collected.

There, with TAPELESS_ECO set, a library that is missing is a failure.
"""

import importlib.util
import os

collect_ignore_glob = []
if not os.environ.get("TAPELESS_ECO") and importlib.util.find_spec("optax") is None:
    collect_ignore_glob = ["test_*.py"]
