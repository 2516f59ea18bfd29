"""The version of the package, told in results and recordings."""

__version__ = "0.1.0"
