"""Tables and files. Polars is needed (``pip install "hybriddp[tables]"``)."""
