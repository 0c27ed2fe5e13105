"""How well do private detectors find outliers? ADBench's classical sets, one protocol for all.

``python -m whitecrow_research.detection --data FOLDER`` redoes the tables. A detector is one
function (see ``rivals.py``, and ``peers.py`` for private ones); whitecrow's are in ``private.py``.
"""
