"""Questions to local users, their answers on devices, and what a tally of the answers says: a file per subject."""
