"""whitecrow's mechanisms, checked.

:mod:`~whitecrow_audit.verify` computes every loss exactly on small universes;
:mod:`~whitecrow_audit.audit` measures losses from draws.
"""
