"""Becomes another program, which the kernel kills when the parent process ends, however that ends.

    python -I -S exec_with_parent.py PARENT_PID PROGRAM ARGUMENT...

`dev_server` starts this file by its path, as a process of its own: it asks the kernel (Linux: PR_SET_PDEATHSIG) and
then executes PROGRAM in its place, under the same process id. Doing the same in a `preexec_fn` would run Python code
in a fork of a process that has native threads, which can deadlock. On other systems it only executes PROGRAM.

It must import nothing outside the standard library, and start fast.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(parent: int, command: list[str]) -> NoReturn:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"prctl(PR_SET_PDEATHSIG): {os.strerror(number)}")
        if os.getppid() != parent:  # it ended before the kernel was asked, so no signal will come
            sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
