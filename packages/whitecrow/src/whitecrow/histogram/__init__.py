"""What questions that count records by cells share: prices as noise, and counting itself."""
