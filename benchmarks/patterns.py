"""The same three contracts by patterns: ast-grep and Semgrep, each in an environment of its own.

The rules (``benchmarks/rules``) are the closest that a person can write; their ids are
``CONTRACT.RUNNER.VERDICT``, and of those about one contract on one runner the first that matches
anywhere in the tree decides.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Sample, run

RULES = Path(__file__).parent / "rules"
QUIET = {"SEMGREP_SEND_METRICS": "off", "SEMGREP_ENABLE_VERSION_CHECK": "0"}


@dataclass(frozen=True)
class Tool:
    """A pattern matcher. ``requirement``: what pip installs; ``rules``: its rule file."""

    name: str
    requirement: str
    rules: Path

    def command(self, place: Path, tree: Path) -> list[str]:
        """The command line that scans a tree and prints JSON."""
        if self.name == "ast-grep":
            return [str(place / "ast-grep"), "scan", "--rule", str(self.rules), "--json=stream", str(tree)]
        quiet = ["--metrics=off", "--disable-version-check", "--quiet", "--json", "--no-git-ignore"]
        return [
            str(place / "semgrep"),
            "scan",
            "--config",
            str(self.rules),
            *quiet,
            "--timeout",
            "0",
            str(tree),
        ]

    def matched(self, output: str) -> set[str]:
        """The ids of the rules that matched."""
        if self.name == "ast-grep":
            return {json.loads(line)["ruleId"] for line in output.splitlines() if line.strip()}
        return {_own_id(result["check_id"]) for result in json.loads(output)["results"]}


TOOLS = (
    Tool("ast-grep", "ast-grep-cli", RULES / "ast-grep.yml"),
    Tool("semgrep", "semgrep", RULES / "semgrep.yml"),
)


def _own_id(check: str) -> str:
    """A rule's id as it is written: Semgrep puts the rule file's folders before it."""
    found = re.search(r"(?:^|\.)([a-z-]+\.(?:v1|v2|any)\.[a-z-]+)$", check)
    return found[1] if found else check


def rule_ids(rules: Path) -> list[str]:
    """The ids of a rule file, in order."""
    return re.findall(r"^\s*(?:- )?id: (\S+)$", rules.read_text(encoding="utf-8"), re.MULTILINE)


def verdicts(matched: Iterable[str], ids: Sequence[str]) -> dict[str, str]:
    """``contract/runner`` -> the verdict of the first rule about it that matched; else ``unknown``."""
    found: dict[str, str] = {}
    hits = set(matched)
    for rule in ids:
        contract, runner, verdict = rule.rsplit(".", 2)
        question = f"{contract}/{runner}"
        if found.get(question, "unknown") == "unknown":
            found[question] = verdict if rule in hits else "unknown"
    return found


def install(tool: Tool, folder: Path) -> Path:
    """A fresh environment with the tool in it, from the package index; its ``bin``.

    Raises subprocess.CalledProcessError where it cannot be had.
    """
    place = folder / tool.name
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, capture_output=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, tool.requirement], check=True, capture_output=True)
    return place / "bin"


def hits(tool: Tool, place: Path, tree: Path, home: Path) -> tuple[set[str], Sample]:
    """The rules that match anywhere in a tree, and what the scan cost; nothing is sent anywhere."""
    env = {**QUIET, "HOME": str(home), "PATH": f"{place}:/usr/bin:/bin"}
    sample = run(tool.command(place, tree.resolve()), env, check=(0, 1))
    return tool.matched(sample.output), sample
