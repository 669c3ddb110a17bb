"""Make src/hybriddp/channels/common.json: the optimized shapes of common epsilons, so that nobody has to wait for them.

    python scripts/make_common.py

Only where the shape has no closed form. They are verified like any other channel whenever they are used.
"""

import json
from pathlib import Path

from hybriddp.channels.shapes import HALF_WINDOW_UP_TO, N_CODES, SINE_WINDOW_FROM, best_shape
from hybriddp.channels.window import Window
from hybriddp.channels.window_channel import whole_values

TARGET = Path(__file__).parent.parent / "src" / "hybriddp" / "channels" / "common.json"
EPSILONS = ["0.8", "0.9", "1", "1.1", "1.2", "1.25", "1.5", "1.75", "2", "2.25", "2.5", "3", "3.5", "4", "4.5", "5"]


def main() -> None:
    """Optimize, round to whole values and store."""
    shapes = {}
    for epsilon in EPSILONS:
        assert HALF_WINDOW_UP_TO < float(epsilon) < SINE_WINDOW_FROM
        shape = best_shape(float(epsilon))
        window = Window.for_epsilon(epsilon, n_codes=N_CODES, width=shape.width)
        shapes[epsilon] = {"window": shape.width, "half": list(whole_values(shape, window))}
    TARGET.write_text(json.dumps(shapes, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(shapes)} shapes, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
