"""K-means with both groups: the paper's algorithm, repaired, and ours."""
