"""What a key of a scenario may hold: numbers with their units, distributions, and traces from files."""
