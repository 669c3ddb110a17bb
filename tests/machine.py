"""What `scripts/set_up.py` found or unpacked into this environment: a browser, and Java where the machine has none."""

import sys
from pathlib import Path

CHROMIUM = Path(sys.prefix) / "chromium" / "chromium"
"""A script that starts the browser."""
JAVA_HOME = Path(sys.prefix) / "java"
"""PyPI's Java; missing where the machine's is new enough."""
