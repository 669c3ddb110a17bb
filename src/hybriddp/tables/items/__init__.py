"""What is counted where nobody knows the items beforehand: each item, by the engine that has them."""
