"""Pictures. Each file draws one; matplotlib is needed (``pip install "hybriddp[plots]"``)."""
