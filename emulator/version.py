"""The version of the package, as results and recordings carry it."""

__version__ = "0.1.0"
