"""One fit on many processes: entries and rows in shares, factors gathered, scalars reduced."""
