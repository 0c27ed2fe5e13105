"""The audit's draws through HTTP: a service is started, asked, and ended."""

from __future__ import annotations

import pytest

from whitecrow_audit.audit import cases


@pytest.mark.timeout(900)
def test_draws_go_through_a_running_service_and_a_reply_that_tells_more_is_seen() -> None:
    shipped, mutant = cases(["service"])
    one, two = shipped.draws()
    seen = [draw() for draw in (one, two, two, one)]
    assert {same for _, same in seen} == {True}
    assert {type(answer) for answer, _ in seen} == {bool}
    one, two = mutant.draws()
    assert one()[1]
    assert not two()[1]
