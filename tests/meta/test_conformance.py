"""The conformance check fails below the recorded floor, and only there."""

from dev import conformance


def chapter(passed: int, jaxlib_loaded: bool = False) -> dict:
    """Return a report like the runner's."""
    return {"passed": passed, "total": 10, "jaxlib_loaded": jaxlib_loaded}


def test_as_many_cells_as_recorded_is_fine():
    assert conformance.verdicts({"ch1": chapter(7)}, {"ch1": 7}) == (
        ["ch1: 7 of 10 cells pass; floor of 7"],
        True,
    )


def test_fewer_cells_than_recorded_fail():
    lines, fine = conformance.verdicts({"ch1": chapter(6)}, {"ch1": 7})
    assert not fine
    assert lines == ["ch1: 6 of 10 cells pass; BELOW the floor of 7"]


def test_a_missing_report_fails():
    assert not conformance.verdicts({}, {"ch1": 0})[1]


def test_loading_the_real_jaxlib_fails():
    assert not conformance.verdicts({"ch1": chapter(9, jaxlib_loaded=True)}, {"ch1": 7})[1]
