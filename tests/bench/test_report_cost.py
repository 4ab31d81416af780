"""The benchmark of the report."""

from rapo.bench.report_cost import measure


def test_it_reports_as_many_runs_as_it_was_asked_for():
    row = measure(3, updates=2)
    assert row.runs == 3
    assert row.seconds > 0
    assert 0.05 < row.peak_gib < 2
    assert row.page_mb > 1
