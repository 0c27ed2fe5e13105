"""What questions that count outliers share: how sensitive a count is, and which noise it needs.

``count``, ``subspaces`` and ``tune`` stand on it; ``place`` is the same for questions about one
place.
"""
