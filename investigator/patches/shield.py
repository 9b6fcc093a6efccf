"""Do a few steps that belong together where nothing can stop them half way.

Several files cannot change in one system call. So the steps run in a child process: when this
process is killed the child finishes them, when the child is killed this process is there to take
them back. Only both dying at once (the machine does) leaves them half done, and then the receipt
on the disk says so.
"""

import json
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from investigator.errors import PatchError

_LEFT_ALONE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def shielded(work: Callable[[], None]) -> None:
    """Run ``work`` to its end in a child process.

    Raises PatchError with what ``work`` raised, or when the child died. An interrupt waits until
    the child is done and counts then. ``work`` must not rely on other threads.
    """
    with _signals_wait():
        said, status = _done_by_child(work)
    if os.WIFSIGNALED(status):
        raise PatchError(f"the writing process was killed ({signal.Signals(os.WTERMSIG(status)).name})")
    if status != 0:
        message, advice = json.loads(said or b'["the writing process failed", ""]')
        raise PatchError(message, advice)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Signals that come meanwhile do what they do when this is over.

    Had one a handler that raises, it could end a hook that Python runs around a fork, unseen: the interrupt
    would be lost, and the lock of ``logging``, which such a hook takes and another gives back, held for ever.
    """
    if threading.current_thread() is not threading.main_thread():  # there is no handler in any other
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in _LEFT_ALONE
        if signal.getsignal(number) is not None  # None: it was not set from Python, and could not be again
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for one in dict.fromkeys(came):
            signal.raise_signal(one)


def _done_by_child(work: Callable[[], None]) -> tuple[bytes, int]:
    """What the child said, and the status that it ended with."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold: the child takes none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _in_child(work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    return said, os.waitpid(child, 0)[1]


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
