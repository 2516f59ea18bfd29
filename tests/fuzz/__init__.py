"""Mutated scenarios and recordings through everything that reads, runs, prints and draws them.

A case is one mutated file. Its kind (``scenarios`` or ``recordings``), a seed and an index make it, always
the same one. It passes if each command on it ends in time with a documented exit code, with plain printable
text, without a warning, within bounded memory, and with exports that are what their suffix says.

    python -m tests.fuzz --seconds 600
    python -m tests.fuzz --kind recordings --case 3:1234 --keep DIR
"""
