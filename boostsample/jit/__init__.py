"""Compilation with numba: decorators, the cache of kernels, vectors and arrays on the stack."""

import os

from boostsample.errors import SettingError

_THREADS = os.environ.get("NUMBA_NUM_THREADS", "1")
if not _THREADS.strip().isdecimal() or not int(_THREADS):  # numba would fail without its name
    raise SettingError(
        "the environment variable NUMBA_NUM_THREADS must be a whole number of at least 1, got "
        f"{_THREADS!r}; correct it, or unset it"
    )
