"""Random numbers by number: those of one episode do not depend on which others are asked for, nor when."""

from numpy.random import Generator, Philox, SeedSequence


class NumberedDraws:
    """A sequence of random numbers for every whole number from 0 below 2^64.

    The generator counts (Philox; Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011): each
    sequence is a stretch of its counter, 2^64 from the next. Going there costs a third of a new generator.
    """

    def __init__(self, seed: SeedSequence) -> None:
        self._bits = Philox(seed)
        self._generator = Generator(self._bits)
        self._beginning = self._bits.state

    def of(self, number: int) -> Generator:
        """The generator at the beginning of that number's sequence, good until the next call."""
        self._bits.state = self._beginning
        self._bits.advance(number << 64)
        return self._generator
