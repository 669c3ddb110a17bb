"""K-means as [ADK20] prints it, in section 7 and appendix D, and with its errata mended: for comparison."""

from hybriddp.paper.kmeans.algorithms import PaperClustering, full_local, hybrid, trusted_only

__all__ = ["PaperClustering", "full_local", "hybrid", "trusted_only"]
