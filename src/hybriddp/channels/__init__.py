"""Local randomizers: what a device does before anything leaves it.

**For a number**: `WindowChannel`, one byte near the least variance possible.

**For a category**: `RandomizedResponse` and `UnaryEncoding`; out of any number of them, `LocalHashing`. **For a set of
them**, all of one size: `ChoiceResponse`.

**For an ordered bin**, of which a CDF is estimated: `MaskedResponse`.

**For clients and servers**: `channel_from_json` reads what `to_json` writes, and refuses everything else.

Every channel is a table of whole numbers whose privacy is proven in exact arithmetic whenever one is made.
"""

from hybriddp.channels.channel import Channel, channel_from_json
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.masked import MaskedResponse
from hybriddp.channels.response import ChoiceResponse, RandomizedResponse
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.channels.window_channel import WindowChannel

__all__ = [
    "Channel",
    "ChoiceResponse",
    "LocalHashing",
    "MaskedResponse",
    "RandomizedResponse",
    "UnaryEncoding",
    "WindowChannel",
    "channel_from_json",
]
