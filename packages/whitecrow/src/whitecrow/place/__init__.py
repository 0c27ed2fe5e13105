"""What the questions about one place share: the law of a yes or no, parameters, prices of many.

``identify``, ``screen`` and ``lookahead`` stand on it; none of them imports another.
"""
