"""Locks on files, which the system takes back when a process ends, however it ends."""

from __future__ import annotations

import sys

if sys.platform == "win32":

    def try_lock(descriptor: int) -> bool:
        """Lock an open file for this process alone; False where another has it."""
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def try_lock(descriptor: int) -> bool:
        """Lock an open file for this process alone; False where another has it."""
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # A file system without locks: as if there were no other process.
            return True
        return True
