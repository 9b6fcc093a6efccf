"""Do a few steps that belong together where nothing can stop them half way.

Several files cannot change in one system call. So the steps run in a child process: when this
process is killed the child finishes them, when the child is killed this process is there to take
them back. Only both dying at once (the machine does) leaves them half done, and then the receipt
on the disk says so.
"""

import json
import os
import signal
import warnings
from collections.abc import Callable

from investigator.errors import PatchError

_LEFT_ALONE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def shielded(work: Callable[[], None]) -> None:
    """Run ``work`` to its end in a child process.

    Raises PatchError with what ``work`` raised, or when the child died. An interrupt waits until
    the child is done and is raised then. ``work`` must not rely on other threads.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold: the child takes none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _in_child(work, writer)
    os.close(writer)
    said, interrupt = _listen(reader)
    _, status = os.waitpid(child, 0)
    if interrupt is not None:
        raise interrupt
    if os.WIFSIGNALED(status):
        raise PatchError(f"the writing process was killed ({signal.Signals(os.WTERMSIG(status)).name})")
    if status != 0:
        message, advice = json.loads(said or b'["the writing process failed", ""]')
        raise PatchError(message, advice)


def _in_child(work: Callable[[], None], writer: int) -> None:
    """Never returns: what follows in the parent is not the child's to do."""
    code = 1
    try:
        for number in _LEFT_ALONE:
            signal.signal(number, signal.SIG_IGN)
        work()
        code = 0
    except BaseException as error:  # whatever it is, the parent has to hear of it
        advice = error.advice if isinstance(error, PatchError) else "see to the disk, then try again"
        os.write(writer, json.dumps([str(error) or type(error).__name__, advice]).encode())
    finally:
        os._exit(code)


def _listen(reader: int) -> tuple[bytes, BaseException | None]:
    """What the child says until it is gone, and an interrupt that came meanwhile."""
    said, interrupt = b"", None
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while True:
            try:
                piece = pipe.read(4096)
            except KeyboardInterrupt as error:
                interrupt = error
                continue
            if not piece:
                return said, interrupt
            said += piece
