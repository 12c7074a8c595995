"""Starts bubblewrap for a worker that runs as root, in a user namespace where the program is not root outside either.

The kernel sets no limit on the processes of root, so the program gets a user id that nobody else has. It is run by its
path and imports nothing from Interlock, to start quickly. `sandbox` starts it.
"""

import ctypes
import os
import secrets
import sys

NEW_USER_NAMESPACE = 0x10000000
"""The flag of unshare(2)."""
INSIDE = 1000
FIRST, COUNT = 0x70000000, 0xFFE0000
"""User ids that no account and no container has. Source: systemd's list of user id ranges."""
NO_FURTHER = "/proc/sys/user/max_user_namespaces"


def main() -> None:
    """Executes bubblewrap. The arguments are the folder that the program may write to, and the command line."""
    folder, bwrap, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    outside = FIRST + secrets.randbelow(COUNT)
    namespace = _namespace(outside)
    _give(folder, outside)
    os.set_inheritable(namespace, True)
    os.execv(bwrap, [bwrap, "--userns", str(namespace), *rest])


def _namespace(outside: int) -> int:
    """A user namespace with root and one more user, in which no further ones can be made; its descriptor."""
    (told, tell), (heard, hear) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(told)
        os.close(hear)
        _wait_within(tell, heard)
    os.close(tell)
    os.close(heard)
    try:
        _expect(told)
        for kind in ("uid", "gid"):
            with open(f"/proc/{pid}/{kind}_map", "w") as file:
                file.write(f"0 0 1\n{INSIDE} {outside} 1\n")
        os.write(hear, b".")
        _expect(told)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    finally:
        os.close(told)
        os.close(hear)
        os.waitpid(pid, 0)


def _wait_within(tell: int, heard: int) -> None:
    """In the child: enters a new namespace and keeps it alive until the parent has opened it."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(NEW_USER_NAMESPACE) != 0:
            os._exit(1)
        os.write(tell, b".")
        os.read(heard, 1)
        with open(NO_FURTHER, "w") as file:
            file.write("0")
        os.write(tell, b".")
        os.read(heard, 1)
    finally:
        os._exit(0)


def _expect(told: int) -> None:
    if not os.read(told, 1):
        sys.stderr.write("no user namespace can be made here\n")
        sys.exit(1)


def _give(folder: str, owner: int) -> None:
    """Makes the program the owner of all that is in the folder; no link is followed."""
    for _, below, names, here in os.fwalk(folder, follow_symlinks=False):
        os.fchown(here, owner, owner)
        for name in (*below, *names):
            os.chown(name, owner, owner, dir_fd=here, follow_symlinks=False)


if __name__ == "__main__":
    main()
