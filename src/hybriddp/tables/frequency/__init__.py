"""What is counted for frequencies: items, by the engine that has them, and codes."""
