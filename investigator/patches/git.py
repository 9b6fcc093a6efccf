"""Run ``git apply`` on a handful of files, away from every repository.

Inside a subfolder of another repository ``git apply`` may print "Skipped patch", exit with 0
and change nothing. So it runs in an empty temporary folder that holds only the files in
question, with discovery of a repository switched off, and what it did is read back.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from investigator.errors import PatchError
from investigator.patches.diff import check_path
from investigator.scratch import scratch_folder

MAX_PATCH_BYTES = 20 << 20
_SECONDS = 60
_UNWANTED = re.compile(
    r"^(old mode|new mode|rename |copy |similarity |deleted file|GIT binary|Binary files|"
    r"new file mode (?!100644|100755)|index \S+ (?!100644|100755))",
    re.MULTILINE,
)


class Workplace:
    """A temporary folder with some files, and git to try patches on them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "tree"
        self._folder.mkdir()
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CEILING_DIRECTORIES": str(folder),
            "GIT_DIR": str(folder / "no-repository"),
        }

    def write(self, files: Mapping[str, bytes]) -> None:
        """Put these files into the folder."""
        for path, content in files.items():
            check_path(path)
            target = self._folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def files(self) -> dict[str, bytes]:
        """Every file in the folder."""
        found = (path for path in self._folder.rglob("*") if path.is_file() and not path.is_symlink())
        return {path.relative_to(self._folder).as_posix(): path.read_bytes() for path in sorted(found)}

    def git_apply(self, patch: bytes, *options: str) -> str | None:
        """Run ``git apply`` with these options; None when it says yes, else what it says."""
        command = ["git", "apply", "--whitespace=nowarn", *options, "-"]
        try:
            done = subprocess.run(
                command,
                cwd=self._folder,
                input=patch,
                capture_output=True,
                env=self._environment,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise PatchError("there is no git command", "install git; patches are checked with it") from None
        except subprocess.TimeoutExpired:
            return f"git apply took longer than {_SECONDS} s"
        said = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode == 0 and "Skipped patch" not in said:
            return None
        return said or f"git apply exits with {done.returncode}"


@contextmanager
def workplace(files: Mapping[str, bytes]) -> Iterator[Workplace]:
    """A workplace that holds ``files`` and is gone afterwards."""
    with scratch_folder() as folder:
        place = Workplace(folder)
        place.write(files)
        yield place


def touched_paths(patch: bytes) -> tuple[str, ...]:
    """The files that a patch changes or adds, vetted before git sees them.

    Raises PatchError for what is no patch, and for one that leaves the tree, removes, renames or
    copies files, changes modes, or holds binary data.
    """
    if len(patch) > MAX_PATCH_BYTES:
        raise PatchError(f"a patch of {len(patch):,} bytes", f"at most {MAX_PATCH_BYTES:,} are read")
    try:
        files = PatchSet(StringIO(patch.decode("latin-1"), newline="\n"))
    except UnidiffParseError as error:
        raise PatchError(f"not a patch that can be read: {error}", "write it with git format-patch") from None
    paths: list[str] = []
    for file in files:
        info = "".join(file.patch_info or [])
        header = info[max(info.rfind("diff --git"), 0) :]
        if file.is_rename or file.is_removed_file or file.is_binary_file or _UNWANTED.search(header):
            raise PatchError(
                f"the patch does more to {file.path!r} than change lines",
                "take only patches that change or add text files",
            )
        names = {name[2:] for name in (file.source_file, file.target_file) if name != "/dev/null"}
        (path,) = names  # of one that renames there would be two
        check_path(path)
        paths.append(path)
    if not paths or len(set(paths)) != len(paths):
        raise PatchError("the patch names no file, or one twice", "write it with git format-patch")
    return tuple(paths)


def applied(patch: bytes, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The touched files after the patch. ``files`` holds at least those that it changes.

    Raises PatchError when it does not apply, saying so when it is applied already.
    """
    paths = touched_paths(patch)
    before = {path: files[path] for path in paths if path in files}
    with workplace(before) as place:
        refusal = place.git_apply(patch)
        if refusal is not None:
            if before and place.git_apply(patch, "--check", "-R") is None:
                raise PatchError(
                    "the patch is applied already", "nothing to do; 'investigate revert' undoes it"
                )
            raise PatchError(
                f"the patch does not apply: {refusal}", "generate it again for exactly this engine"
            )
        after = place.files()
    if after == before:
        raise PatchError("the patch changes nothing", "leave it out")
    if set(after) != set(paths):
        raise PatchError("git apply changed other files than the patch names", "look at the patch by hand")
    return {path: after[path] for path in paths}
