"""The paper [ADK20] as printed, and BLENDER before it: for comparison, and for its figures."""
