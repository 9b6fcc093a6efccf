"""The formats a run can be reported in, each a function from an Investigation to a text."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from investigator.model import Investigation


@dataclass(frozen=True)
class Format:
    """One format. ``file``: its name in the run folder. ``module``: in here, with ``render``."""

    name: str
    file: str
    module: str

    def render(self, investigation: Investigation) -> str:
        """The whole document, ending in a line end."""
        module = importlib.import_module(f"investigator.reports.{self.module}")
        return cast(Callable[[Investigation], str], module.render)(investigation)


FORMATS: dict[str, Format] = {
    made.name: made
    for made in (
        Format("json", "investigation.json", "json_report"),
        Format("markdown", "report.md", "markdown"),
        Format("html", "report.html", "html"),
        Format("sarif", "findings.sarif", "sarif"),
        Format("issue", "issue.md", "issue"),
        Format("github", "annotations.txt", "github"),
    )
}
BY_DEFAULT = ("json", "markdown", "html", "sarif")
"""What a run writes when no format is asked for. The JSON is written in any case."""
