"""Channels as text: every channel has exactly one, and nothing else is accepted.

A parser that only accepts a channel's own text, byte for byte, has nothing to be tricked with: no second key of the
same name, no float that looks like an integer, no spaces, no other order.
"""

import json
from collections.abc import Callable
from typing import Any

from hybriddp.channels.channel import Channel, require
from hybriddp.channels.choice import ChoiceResponse
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.response import RandomizedResponse
from hybriddp.channels.table import TableChannel
from hybriddp.channels.unary import UnaryEncoding
from hybriddp.channels.window import Window, WindowChannel
from hybriddp.errors import ProtocolError
from hybriddp.odds import canonical_epsilon

LONGEST = 1 << 24  # characters


def _window(f: dict[str, Any]) -> Channel:
    window = Window(n_codes=f["codes"], width=f["window"], bits=f["bits"], low=f["low"], extra=f["extra"])
    return WindowChannel.of(epsilon=f["epsilon"], window=window, half=tuple(f["half"]))


def _response(f: dict[str, Any]) -> Channel:
    window = Window(n_codes=f["categories"], width=1, bits=f["bits"], low=f["low"], extra=f["extra"])
    return RandomizedResponse.of(epsilon=f["epsilon"], window=window)


def _choice(f: dict[str, Any]) -> Channel:
    window = Window(n_codes=f["codes"], width=f["chosen"], bits=f["bits"], low=f["low"], extra=f["extra"])
    return ChoiceResponse.of(epsilon=f["epsilon"], window=window)


def _unary(f: dict[str, Any]) -> Channel:
    return UnaryEncoding.of(epsilon=f["epsilon"], n_categories=f["categories"], one=f["one"], zero=f["zero"])


_KINDS: dict[str, Callable[[dict[str, Any]], Channel]] = {
    WindowChannel.kind: _window,
    RandomizedResponse.kind: _response,
    ChoiceResponse.kind: _choice,
    UnaryEncoding.kind: _unary,
    TableChannel.kind: lambda f: TableChannel.of(epsilon=f["epsilon"], rows=f["rows"], values=f["values"]),
    DiscreteLaplace.kind: lambda f: DiscreteLaplace.of(epsilon=f["epsilon"]),
}


def channel_from_json(text: str, *, epsilon: float | str | None = None) -> Channel:
    """The channel that a text describes, verified.

    Parameters
    ----------
    text : str
        What `Channel.to_json` wrote.
    epsilon : float or str, optional
        The ε that the user was shown. A channel for another one is refused.

    Examples
    --------
    >>> from hybriddp.channels import RandomizedResponse
    >>> text = RandomizedResponse(epsilon=1, n_categories=2).to_json()
    >>> text
    '{"type":"response","version":2,"epsilon":"1","categories":2,"bits":32,"low":1155094610,"extra":1984778076}'
    >>> channel_from_json(text, epsilon=1.0)
    RandomizedResponse(epsilon='1', n_codes=2)
    """
    require(isinstance(text, str) and len(text) <= LONGEST, f"its text is not a string of at most {LONGEST} characters")
    try:
        fields = json.loads(text)
        channel = _KINDS[fields["type"]](fields)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as reason:
        raise ProtocolError("The channel is refused: its text does not describe a channel.") from reason
    require(channel.to_json() == text, "its text is not in the form that channels are written in")
    if epsilon is not None:
        promised = canonical_epsilon(epsilon)
        require(channel.epsilon == promised, f"it is for epsilon {channel.epsilon}, but {promised} was promised")
    return channel
