"""K-means as [ADK20] prints it, in section 7 and appendix D, and with its errata repaired: for comparison."""

from hybriddp.paper.kmeans.algorithms import PRINTED, REPAIRED, PaperClustering, PaperReading, hybrid

__all__ = ["PRINTED", "REPAIRED", "PaperClustering", "PaperReading", "hybrid"]
