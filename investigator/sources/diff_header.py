"""What a diff says of one file before its hunks, as strictly as git writes it.

git itself is more tolerant: it takes names from whichever line has one, and passes over lines it
does not know. What readers would take one way or another is a problem here, never a guess.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

_SAME = re.compile(r"diff --git a/(.+) b/\1")
_QUOTED_PAIR = re.compile(r'diff --git ("a/.*"|a/.*) ("b/.*"|b/.*)')
_QUOTED = re.compile(r'"(?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*"')
_HEADER = re.compile(
    r"((?:old|new|new file|deleted file) mode(?= \d{6}$)|(?:dis)?similarity index(?= \d{1,3}%$)"
    r"|index(?= [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: \d{6})?$)"
    r"|(?:rename|copy) (?:from|to)|---|\+\+\+) (.*)"
)
_BINARY = re.compile(r"^(GIT binary patch|Binary files )", re.MULTILINE)
_NOTHING = "/dev/null"
_LINK_OR_MODULE = ("120000", "160000")


class ChangeKind(StrEnum):
    """What happens to a file."""

    MODIFIED = "modified"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"


_ALWAYS = frozenset({"index", "---", "+++"})
_MODES = frozenset({"old mode", "new mode"})
_MAY_SAY = {
    ChangeKind.MODIFIED: _ALWAYS | _MODES | {"dissimilarity index"},
    ChangeKind.ADDED: _ALWAYS | {"new file mode"},
    ChangeKind.DELETED: _ALWAYS | {"deleted file mode"},
    ChangeKind.RENAMED: _ALWAYS | _MODES | {"similarity index", "rename from", "rename to"},
}
"""What git's header of each kind may hold; of a copy nothing is read."""


@dataclass(frozen=True)
class Header:
    """One file of a diff without its hunks: see :class:`ChangedFile` for what each field says."""

    path: str
    old_path: str
    kind: ChangeKind
    old_blob: str | None
    problem: str | None


def read_header(head: str, hunks: bool) -> Header:
    """The lines from ``diff --git`` on, as latin-1; ``hunks``: whether some follow."""
    first, *lines = (head if hunks else head.removesuffix("\n")).split("\n")
    said = {match[1]: match[2] for line in lines if (match := _HEADER.fullmatch(line))}
    # A tab ends the name behind these two, and only these: git puts it there where a name has a space.
    said |= {key: said[key].partition("\t")[0] for key in ("---", "+++") if key in said}
    old, new = _names(first, said)
    path, old_path, kind = new or old or "(no name)", old or new or "(no name)", _kind(said)
    problem = _problem(head, said) or vet_path(path) or vet_path(old_path)
    if not (old and new):
        problem = "its name cannot be read"
    elif problem is None and len(said) != len(lines):
        problem = "its header is not one that git writes"  # a line it does not know, or one twice
    elif problem is None and kind is not ChangeKind.RENAMED and (same := _SAME.fullmatch(first)):
        problem = None if _plain(same[1]) == path else "its header names several files"
    return Header(
        path=path,
        old_path=old_path,
        kind=kind,
        old_blob=said["index"].partition("..")[0] if "index" in said else None,
        problem=problem or _inconsistency(said, path, old_path, kind, hunks),
    )


def vet_path(path: str) -> str | None:
    """Why a path must not be followed, None for a plain relative one."""
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", path) or ".." in parts:
        return "its path leaves the tree"
    if any(part.lower() in ("", ".", ".git") for part in parts):
        return "its path is not one that a tree may hold"
    if any(ord(char) < 32 or ord(char) == 127 for char in path) or len(path) > 1000:
        return "its path has characters that no source file's has"
    return None


def _names(first: str, said: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The file's name before and after, in git's order: moved, changed, or only named at the top.

    None: there is none that can be read.
    """
    for old, new, prefixes in (
        ("rename from", "rename to", ("", "")),
        ("copy from", "copy to", ("", "")),
        ("---", "+++", ("a/", "b/")),
    ):
        if old in said and new in said:
            known = [
                _plain(said[key], prefix)
                for key, prefix in zip((old, new), prefixes, strict=True)
                if said[key] != _NOTHING
            ]
            return (known[0], known[-1]) if known else (None, None)
    if same := _SAME.fullmatch(first):
        return _plain(same[1]), _plain(same[1])
    pair = _QUOTED_PAIR.fullmatch(first) if '"' in first else None
    return (_plain(pair[1], "a/"), _plain(pair[2], "b/")) if pair else (None, None)


def _plain(name: str, prefix: str = "") -> str | None:
    """A path as a header gives it, behind its prefix; None for one that is no path in UTF-8."""
    if name.startswith('"'):
        if not _QUOTED.fullmatch(name):
            return None
        name = name[1:-1].encode("latin-1").decode("unicode_escape")
    try:
        path = name.removeprefix(prefix).encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None
    return path if path and name.startswith(prefix) else None


def _kind(said: Mapping[str, str]) -> ChangeKind:
    if "new file mode" in said:
        return ChangeKind.ADDED
    if "deleted file mode" in said:
        return ChangeKind.DELETED
    return ChangeKind.RENAMED if "rename to" in said else ChangeKind.MODIFIED


def _problem(head: str, said: Mapping[str, str]) -> str | None:
    if _BINARY.search(head):
        return "it is binary"
    modes = [said.get("index", "")[-6:], *(value for key, value in said.items() if key.endswith(" mode"))]
    if any(mode in _LINK_OR_MODULE for mode in modes):
        return "it is a link or a submodule"
    if "copy from" in said or "copy to" in said:
        return "it is a copy of another file"
    return None


def _inconsistency(
    said: Mapping[str, str], path: str, old_path: str, kind: ChangeKind, hunks: bool
) -> str | None:
    """Where the lines of a header contradict each other."""
    if not said.keys() <= _MAY_SAY[kind] or ("old mode" in said) != ("new mode" in said):
        return "its header is not one that git writes"
    if path != old_path and kind is not ChangeKind.RENAMED:
        return "its header names several files"
    before = None if kind is ChangeKind.ADDED else old_path
    after = None if kind is ChangeKind.DELETED else path
    expected = {"---": (before, "a/"), "+++": (after, "b/")}
    if kind is ChangeKind.RENAMED:
        expected |= {"rename from": (before, ""), "rename to": (after, "")}
    for key, (right, prefix) in expected.items():
        name = said.get(key)
        if name is None:
            if hunks or key.startswith("rename"):
                return "its header does not name the file"
        elif (name == _NOTHING) != (right is None) or right not in (None, _plain(name, prefix)):
            return "its header names several files"
    if not hunks and ("---" in said or not any("mode" in key or "rename" in key for key in said)):
        return "it says nothing of what changes"
    return None
