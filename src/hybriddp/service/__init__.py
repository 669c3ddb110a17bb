"""The curator as a server."""
