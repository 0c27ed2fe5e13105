"""whitecrow: outlier analysis on sensitive data, under provable privacy."""

__version__ = "0.1.0"
