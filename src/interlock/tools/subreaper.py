"""A process between a worker and a tool's program, which adopts all descendants of the program, even detached ones.

It is run by its path and imports nothing from Interlock, to start quickly. `children` starts it.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time

SUBREAPER = 36
"""The `prctl` option by which orphaned descendants are reparented to this process. Source: prctl(2)."""
DEATH_SIGNAL = 1
"""The `prctl` option by which this process gets a signal when its worker dies."""
WORKER_DIED = signal.SIGUSR1
MINDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
USUAL = (*MINDED, signal.SIGPIPE, signal.SIGXFSZ)
LOOK_S = 0.01


def main() -> None:
    """Starts the program in its arguments, and exits like it once no descendant is left.

    The arguments are: a file descriptor for start errors, the grace period in seconds for remaining descendants, the
    process id of the worker, the program, and its `argv`. If the worker dies, all descendants are ended.
    """
    problem_fd, term_s, worker = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    program, argv = sys.argv[4], sys.argv[5:]
    prctl = ctypes.CDLL(None).prctl
    prctl(SUBREAPER, 1, 0, 0, 0)
    for number in MINDED:
        signal.signal(number, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        _become(program, argv, problem_fd)
    for descriptor in (0, 1, 2, problem_fd):
        os.close(descriptor)
    signal.signal(WORKER_DIED, lambda *_: _end_all(term_s))
    prctl(DEATH_SIGNAL, WORKER_DIED, 0, 0, 0)
    if os.getppid() != worker:
        _end_all(term_s)
    _, status = os.waitpid(pid, 0)
    _end_rest(term_s)
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        with contextlib.suppress(OSError):
            signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)
    os._exit(os.WEXITSTATUS(status))


def _become(program: str, argv: list[str], problem_fd: int) -> None:
    try:
        for number in USUAL:
            signal.signal(number, signal.SIG_DFL)
        os.set_inheritable(problem_fd, False)
        os.execv(program, argv)
    except OSError as error:
        os.write(problem_fd, str(error.errno).encode())
    os._exit(127)


def _end_all(term_s: float) -> None:
    """Ends all descendants, the program included, and exits."""
    _end_rest(term_s)
    os._exit(1)


def _end_rest(term_s: float) -> None:
    """Ends all remaining descendants: SIGTERM, then SIGKILL after `term_s`."""
    began, is_asked = time.monotonic(), False
    while _is_left():
        is_late = time.monotonic() - began >= term_s
        if is_late or not is_asked:
            for pid in below([os.getpid()]):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        is_asked = True
        time.sleep(LOOK_S)


def _is_left() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def below(tops: list[int]) -> list[int]:
    """The descendants of some processes, as long as each one's parent exists."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{int(name)}/stat", "rb") as stat:
            parent = int(stat.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found, rest = [], list(tops)
    while rest:
        started = children.get(rest.pop(), [])
        found += started
        rest += started
    return found


if __name__ == "__main__":
    main()
