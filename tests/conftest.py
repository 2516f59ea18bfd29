"""What holds for all tests: examples are the same in every run, and none has to be ready by a time."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # it counts wall seconds
)
settings.load_profile("steady")
