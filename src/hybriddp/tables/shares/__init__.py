"""What is counted for shares of known categories, by the engine that has the items: items, and codes."""
