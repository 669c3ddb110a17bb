"""Tables for K-means: as the trusted group, and as the reports of a round."""
