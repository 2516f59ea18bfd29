"""The version of the package, as results and recordings carry it; what changed is in CHANGELOG.md."""

__version__ = "0.2.0"
