"""The former name of ``benchmarks.disk``: the engine ``sql`` is called ``disk`` now."""

from __future__ import annotations

from benchmarks.disk import main

if __name__ == "__main__":
    main()
