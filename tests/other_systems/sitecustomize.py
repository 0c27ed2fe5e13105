"""Makes a Python look like one of another system: what Windows or macOS lacks is gone.

Python imports a module of this name when it starts, so processes that a process starts lack it too.
"""

import os
import socket
import sys

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "uvloop", "syslog", "pty", "spwd", "crypt")

ATTRIBUTES = (
    *("fork", "forkpty", "register_at_fork", "memfd_create", "eventfd", "pidfd_open"),
    *("pread", "preadv", "pwrite", "pwritev", "posix_fallocate", "posix_fadvise", "sendfile"),
    *("copy_file_range", "splice", "fchmod", "fchown", "fdatasync", "sync", "lockf", "getrandom"),
    *("sched_getaffinity", "sched_setaffinity", "sched_yield", "setsid", "nice", "mkfifo"),
    *("O_TMPFILE", "O_CLOEXEC", "O_DIRECT", "O_DSYNC", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH"),
)
"""Of the module os."""


class Elsewhere:
    """Finds none of these modules."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


for module in MODULES:
    sys.modules.pop(module, None)
sys.meta_path.insert(0, Elsewhere())
for attribute in ATTRIBUTES:
    if hasattr(os, attribute):
        delattr(os, attribute)
del socket.SO_REUSEPORT
