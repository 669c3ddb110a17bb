"""The algorithm, step by step. Nothing in here sees a point: it hands out requests and is told what was published."""
