"""Diffs, sound and spoilt: the reader and the fitting in memory against ``git apply``.

Three things may happen to a diff, and only these: both apply it and leave the same files; both
refuse it; or it is refused here, with a reason that stands in ``STRICTER``, though git takes it.
"""

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from investigator.errors import InvestigateError
from investigator.pull_requests.fit import Fit, fit_diff
from investigator.sources.diff_reader import read_diff
from investigator.sources.text_tree import TextTree
from tests.support import builders

Files = Mapping[str, bytes]

STRICTER = (
    "it is binary",
    "it is a link or a submodule",
    "its path",
    "its name cannot be read",
    "its hunks cannot be read",
    "its hunks hold other lines",
    "its hunks have an end of the file in the middle",
    "its header",
    "it says nothing of what changes",
    "it is a copy",
    "it is cut off",
    "outside the engine's packages",
    "twice",
    "no diff in git's form",
    "its lines stand only before an earlier change",
    "the change names no line that it stands beside",
    "the engine has it in part",
)
"""Reasons to refuse what git may take: what no source file's change needs."""

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "e",
    "LC_ALL": "C",
}


class Sandbox:
    """A folder of its own for git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(folder)}

    def diff(self, before: Files, after: Files, *options: str) -> bytes:
        """What git says changes between two trees."""
        for name, files in (("a", before), ("b", after)):
            self._put(name, files)
        done = self._git("diff", "--no-index", *options, "--no-prefix", "a", "b", cwd=self.folder)
        return done.stdout

    def apply(self, files: Files, diff: bytes) -> dict[str, bytes] | None:
        """The tree after ``git apply``; None when git refuses."""
        root = self._put("tree", files)
        done = self._git("apply", "--whitespace=nowarn", "-", cwd=root, given=diff)
        if done.returncode:
            return None
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    def _put(self, name: str, files: Files) -> Path:
        root = self.folder / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        return root

    def _git(
        self, *arguments: str, cwd: Path, given: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *arguments], cwd=cwd, input=given, capture_output=True, check=False, env=self._environment
        )


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """``count`` diffs between random trees, most of them spoilt, put to both."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Path(folder))
        for _ in range(count):
            before, diff = case(sandbox, chance)
            result = compared(sandbox, before, diff)
            counts[result] += 1
            if result.startswith("FIND"):
                print(result, before, diff, sep="\n")
    return counts


def compared(sandbox: Sandbox, before: Files, diff: bytes) -> str:
    """What became of one diff; begins with FIND when the two disagree."""
    theirs = sandbox.apply(before, diff)
    ours, why = applied(before, diff)
    if ours is not None:
        if theirs is None:
            return "FIND: applied what git refuses" if diff.strip() else "empty"
        return "applied alike" if ours == theirs else "FIND: applied otherwise than git"
    if theirs is None:
        return "both refuse"
    reason = next((reason for reason in STRICTER if reason in why), None)
    if rb"\ No newline" in diff and "is not what the change expects" in why:
        reason = "an end of the file that is not there"  # git lets it pass behind a line of context
    return f"stricter: {reason}" if reason else f"FIND: refused what git takes ({why})"


def applied(before: Files, diff: bytes) -> tuple[dict[str, bytes] | None, str]:
    """The tree after the diff as this program sees it, or None and why not."""
    tree = TextTree(builders.source(), dict(before))
    try:
        files = read_diff(diff, "x")
    except InvestigateError as error:
        return None, str(error)
    fitted = fit_diff(files, tree)
    if fitted.skipped:
        return None, fitted.skipped[0][1]
    if fitted.patched is None:
        return None, fitted.conflicts[0].why
    if files and fitted.fit is not Fit.APPLIES:
        return None, fitted.fit.value
    if any(file.path not in fitted.changed and file.old_path not in fitted.changed for file in files):
        return None, "the engine has it in part"
    return {path: fitted.patched.read(path) for path in fitted.patched.paths()}, ""


# Making diffs

LINES = (b"def f(x):", b"    return x", b"", b"import os", b"\tx = 1", b"-- a/pkg/x.py", b"++ b", b"\xff\xfe")
NAMES = ("pkg/a.py", "pkg/b.py", "pkg/sub/c.py", "pkg/with space.py", "pkg/d.txt")


def case(sandbox: Sandbox, chance: random.Random) -> tuple[Files, bytes]:
    """A tree, and a diff that was made for it or for one like it; four of five are spoilt."""
    before = {name: text(chance) for name in chance.sample(NAMES, chance.randint(1, 3))}
    after = dict(before)
    for name in list(before):
        match chance.randrange(8):
            case 0:
                del after[name]
            case 1:
                after[chance.choice(NAMES)] = after.pop(name)
            case 2:
                after[chance.choice(NAMES)] = text(chance)
            case _:
                after[name] = edited(before[name], chance)
    options = [chance.choice(["-U3", "-U3", "-U1", "-U0"]), *chance.choice([[], [], ["-M"], ["-C", "-C"]])]
    diff = prefixed(sandbox.diff(before, after, *options))
    if chance.random() < 0.3:  # the engine has moved on
        name = chance.choice(list(before))
        before = {**before, name: edited(before[name], chance)}
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        diff = spoilt(diff, chance)
    return before, diff


def text(chance: random.Random) -> bytes:
    """A few lines, some of them alike; now and then with CRLF or no end."""
    lines = [chance.choice(LINES) + b"%d" % chance.randrange(4) for _ in range(chance.randint(0, 25))]
    ending = b"\r\n" if chance.random() < 0.15 else b"\n"
    whole = b"".join(line + ending for line in lines)
    return whole.rstrip(b"\r\n") if chance.random() < 0.2 else whole


def edited(content: bytes, chance: random.Random) -> bytes:
    """The text with some lines gone, others added."""
    lines = content.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines) + 1)
        match chance.randrange(3):
            case 0:
                lines.insert(at, b"new %d" % chance.randrange(100))
            case 1:
                del lines[at : at + chance.randint(1, 2)]
            case _:
                lines[at : at + 1] = [b"other", b"lines"]
    return b"\n".join(lines)


def prefixed(diff: bytes) -> bytes:
    """A diff of two folders with the names that a repository's diff has."""
    names = rb"(?m)^(---|\+\+\+|rename from|rename to|copy from|copy to) ([ab])/"
    named = re.sub(names, lambda m: m[0] if m[1] in (b"---", b"+++") else m[1] + b" ", diff)
    return re.sub(rb"(?m)^diff --git ([ab])/(.*) \1/\2$", rb"diff --git a/\2 b/\2", named)


PATHS = (
    b"../out.py",
    b"/etc/passwd",
    b"pkg/../../x",
    b".git/config",
    b'"a/pkg/a.py"',
    b'"pkg/\\141.py"',
    b"pkg/b.py",
    b"/dev/null",
    b"a/b/pkg/a.py",
    b"",
)
HEADERS = (
    b"old mode 100644\nnew mode 100755",
    b"new file mode 100644",
    b"new file mode 120000",
    b"deleted file mode 100644",
    b"similarity index 90%\nrename from pkg/a.py\nrename to pkg/b.py",
    b"similarity index 90%\ncopy from pkg/a.py\ncopy to pkg/e.py",
    b"Binary files a/pkg/a.py and b/pkg/a.py differ",
    b"GIT binary patch\nliteral 3\nKcmZQzU",
    b"index 1234567..89abcde 160000",
    b"index 1234567..89abcde 100644",
)


def spoilt(diff: bytes, chance: random.Random) -> bytes:
    """The diff with one thing changed in it."""
    lines = diff.split(b"\n")
    at = chance.randrange(len(lines))
    heads = [n for n, line in enumerate(lines) if line.startswith(b"@@ ")]
    named = [n for n, line in enumerate(lines) if re.match(rb"diff --git|---|\+\+\+|rename|copy", line)]
    match chance.randrange(12):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[chance.randrange(len(lines))])
        case 2 if heads:
            at = chance.choice(heads)
            numbers = re.findall(rb"\d+", lines[at])
            other = re.sub(
                rb"\d+", lambda m: b"%d" % max(0, int(m[0]) + chance.choice([-2, -1, 0, 1, 2])), lines[at]
            )
            lines[at] = other if numbers else lines[at]
        case 3 if heads:
            lines[chance.choice(heads)] = chance.choice(
                [
                    b"@@ -1,99999999999999999999 +1 @@",
                    b"@@ -0,0 +1,2 @@",
                    b"@@ -1 +1 @@",
                    b"@@",
                    b"@@ -1,2 +1,2",
                ]
            )
        case 4 if named:
            at = chance.choice(named)
            lines[at] = re.sub(rb"(?<=[ /])pkg/[^\t]*", chance.choice(PATHS), lines[at], count=1)
        case 5 if named:
            lines.insert(chance.choice(named) + 1, chance.choice(HEADERS))
        case 6:
            lines[at] = lines[at] + b"\r"
        case 7:
            lines.insert(at, rb"\ No newline at end of file")
        case 8:
            lines = [line for line in lines if not line.startswith(b"\\")]
        case 9:
            lines[at] = chance.choice([b"+", b"-", b" ", b"?", b"", b"\\"]) + lines[at][1:]
        case 10:
            lines = lines[:at]
        case _:
            data = bytearray(diff)
            if data:
                data[chance.randrange(len(data))] = chance.choice(b'\n\r\t +-@\\"/0a\xff\x00')
            return bytes(data)
    return b"\n".join(lines)
