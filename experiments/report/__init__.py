"""Reports: all tables, pictures and facts of results folders in one HTML file."""

from boostsample.experiments.report.html_report import check_report, make_report, write_report

__all__ = ["check_report", "make_report", "write_report"]
