from hypothesis import HealthCheck, settings

# Derandomized: a run tests the commit, not the day. The examples are many instead.
settings.register_profile(
    "hybriddp", deadline=None, derandomize=True, max_examples=300, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("hybriddp")
