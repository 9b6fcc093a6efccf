"""A validation put into the reports of the run that it was made for, with its charts."""

import re

from markupsafe import Markup

from investigator.reports import html
from investigator.validation.assess import Assessment
from investigator.validation.charts import acceptance_length_chart, per_position_chart, telling
from investigator.validation.report_section import TABLE, cells, markdown, small_print
from investigator.validation.sentences import sentences

_PLACE = re.compile(r"^<!-- measured -->\n.*?^<!-- /measured -->$", re.DOTALL | re.MULTILINE)
"""Where a report leaves room: no foreign text can stand there as a line of its own."""


def into_markdown(report: str, assessment: Assessment) -> str:
    """``report.md`` with the validation in place of an earlier one; unchanged without room for it."""
    return _put(report, markdown(assessment))


def into_html(report: str, assessment: Assessment) -> str:
    """``report.html`` likewise, its charts drawn in the page itself."""
    charts = (acceptance_length_chart(assessment), per_position_chart(assessment, telling(assessment)))
    section = html.fragment(
        "measured.html.j2",
        sentences=list(sentences(assessment)),
        columns=TABLE,
        rows=[cells(figures) for figures in assessment.figures],
        charts=[Markup(chart) for chart in charts if chart],  # noqa: S704 - drawn and escaped by us
        small_print=[text for text in small_print(assessment) if text],
    )
    return _put(report, section)


def _put(report: str, section: str) -> str:
    return _PLACE.sub(lambda _: f"<!-- measured -->\n{section.rstrip()}\n<!-- /measured -->", report, count=1)
