"""Packages and their folders; everything else is in pyproject.toml.

``agents/``, ``reports/`` and ``fixtures/`` stand at the top of the repository and are
installed *inside* ``investigator``: a distribution with a top-level ``agents`` would
overwrite openai-agents. Setuptools finds packages in one folder only, hence these lines. A folder
of data counts as a package too (of namespaces): setuptools warns of one that is not named.
"""

from setuptools import find_namespace_packages, setup

PLACED = ("agents", "reports", "fixtures")
CACHES = ["*__pycache__*"]

setup(
    packages=[
        *find_namespace_packages(include=["investigator", "investigator.*"], exclude=CACHES),
        *(
            f"investigator.{name}"
            for place in PLACED
            for name in find_namespace_packages(include=[place, f"{place}.*"], exclude=CACHES)
        ),
    ],
    package_dir={f"investigator.{place}": place for place in PLACED},
    package_data={
        "investigator": ["py.typed", "**/*.json", "**/*.md", "**/*.j2", "**/*.svg"],
        "investigator.reports": ["**/*.j2", "**/*.json", "**/*.css", "**/*.js"],
        "investigator.fixtures": ["**/*"],
    },
)
