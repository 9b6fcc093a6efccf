"""Commands that put a pull request's change on an engine, ready to paste."""

import shlex

from investigator.sources.github import PullRequestRef


def install_from_head(ref: PullRequestRef, package: str, host: str = "github.com") -> str:
    """Install the engine as it is at the pull request's head.

    The head carries its whole branch, so this is also the state of everything else there.
    """
    requirement = f"{package} @ git+https://{host}/{ref.repo}.git@refs/pull/{ref.number}/head"
    return f"uv pip install {shlex.quote(requirement)}"


def apply_diff(ref: PullRequestRef, package: str, host: str = "github.com") -> str:
    """Apply the pull request's diff to the engine that ``python`` imports here.

    ``GIT_CEILING_DIRECTORIES`` matters: inside another repository ``git apply`` skips files
    silently and still says that all went well. ``--check`` comes first, so that it is all or
    nothing; tests and documents of the pull request are left out.
    """
    url = f"https://{host}/{ref.repo}/pull/{ref.number}.diff"
    folder = 'import sysconfig; print(sysconfig.get_path("purelib"))'
    apply = f'git -C "$SITE" apply --include={shlex.quote(package + "/*")}'
    return " && ".join(
        (
            f'SITE="$(python -c {shlex.quote(folder)})"',
            f"curl -fsSL -o pull.diff {shlex.quote(url)}",
            'export GIT_CEILING_DIRECTORIES="$(dirname "$SITE")"',
            f'{apply} --check "$PWD/pull.diff"',
            f'{apply} "$PWD/pull.diff"',
        )
    )
