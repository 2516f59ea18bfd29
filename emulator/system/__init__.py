"""The emulated system: source, workers, queue, trainer and timeline of one lane."""
