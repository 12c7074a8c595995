"""How many examples a property is tried with; the profiles are chosen in `conftest`."""

from hypothesis import settings


def times(factor: float) -> settings:
    """So many times the examples of the profile: fewer in each run, more where somebody looks further."""
    return settings(max_examples=round(factor * settings().max_examples))
