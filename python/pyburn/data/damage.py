"""Converts the exceptions that libraries raise for damaged files to FormatError."""

from __future__ import annotations

import contextlib
import errno
import lzma
import re
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator

from .._core import FormatError

# OSError is not included, except for seeks before the start of a file, which a damaged offset causes.
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError, SyntaxError, TypeError, ValueError, re.error),
    *(lzma.LZMAError, struct.error, tarfile.TarError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


@contextlib.contextmanager
def format_errors(message: str) -> Iterator[None]:
    """Context manager that raises FormatError with a message and the cause if the body fails because of the content of a file.

    >>> with format_errors("[list] a.json is no list of numbers"):
    ...     int("x")
    Traceback (most recent call last):
    pyburn.FormatError: [list] a.json is no list of numbers: ValueError: invalid literal for int() with base 10: 'x'
    """
    try:
        yield
    except FormatError:
        raise
    except _DAMAGE as error:
        raise FormatError(f"{message}: {type(error).__name__}: {error}") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL) or error.filename is not None:
            raise
        raise FormatError(f"{message}: {error}") from None
