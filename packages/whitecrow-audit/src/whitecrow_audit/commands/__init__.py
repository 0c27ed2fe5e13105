"""What this package adds to the terminal."""
