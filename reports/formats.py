"""The formats a run can be reported in, each a function from an Investigation to a text."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from investigator.model import Investigation

if TYPE_CHECKING:
    from investigator.reports.triage_section import Opening


@dataclass(frozen=True)
class Format:
    """One format. ``file``: its name in the run folder. ``module``: in here, with ``render``.

    ``opens``: whether its ``render`` takes what a symptom says, too, and opens with it.
    """

    name: str
    file: str
    module: str
    opens: bool = False

    def render(self, investigation: Investigation, opening: "Opening | None" = None) -> str:
        """The whole document, ending in a line end."""
        render = importlib.import_module(f"investigator.reports.{self.module}").render
        if self.opens:
            return cast("Callable[[Investigation, Opening | None], str]", render)(investigation, opening)
        return cast(Callable[[Investigation], str], render)(investigation)


FORMATS: dict[str, Format] = {
    made.name: made
    for made in (
        Format("json", "investigation.json", "json_report"),
        Format("markdown", "report.md", "markdown", opens=True),
        Format("html", "report.html", "html", opens=True),
        Format("sarif", "findings.sarif", "sarif"),
        Format("issue", "issue.md", "issue", opens=True),
        Format("github", "annotations.txt", "github"),
    )
}
BY_DEFAULT = ("json", "markdown", "html", "sarif")
"""What a run writes when no format is asked for. The JSON is written in any case."""
