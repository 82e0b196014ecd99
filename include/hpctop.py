"""Regions of your own in hpctop, for Python.  One file without dependencies: put its folder into PYTHONPATH, or copy it.

    import hpctop

    with hpctop.region("solve"):
        ...

    @hpctop.region("assemble")
    def assemble(mesh):
        ...

    hpctop.begin("exchange"); hpctop.end("exchange")        end(): the innermost region

Without libtrace.so nothing is done: region() returns an object whose methods are empty.  Regions are of the thread that
enters them; do not await inside of one, since other tasks of the thread would run in it."""

import ctypes
import functools

__all__ = ["region", "begin", "end", "is_recorded"]


class _Recorder(ctypes.Structure):
    """What libtrace.so shows of itself, as in hpctop.h."""

    _fields_ = [
        ("version", ctypes.c_uint),
        ("number", ctypes.PYFUNCTYPE(ctypes.c_uint, ctypes.c_char_p)),
        ("begin", ctypes.PYFUNCTYPE(None, ctypes.c_uint)),
        ("end", ctypes.PYFUNCTYPE(None, ctypes.c_uint)),
    ]


def _find():
    try:
        return _Recorder.in_dll(ctypes.PyDLL(None), "hpctop_regions")
    except (ValueError, OSError):
        return None


_recorder = _find()
_begin, _end = (_recorder.begin, _recorder.end) if _recorder else (None, None)
_numbers = {}


def is_recorded():
    """Whether libtrace.so is there."""
    return _recorder is not None


def _number_of(name):
    number = _numbers.get(name)
    if number is None:
        number = _recorder.number(str(name).encode("utf-8", "replace"))
        if len(_numbers) < 4096:
            _numbers[name] = number
    return number


def begin(name):
    """Enters a region of the calling thread."""
    if _begin:
        _begin(_number_of(name))


def end(name=None):
    """Leaves the region with this name; None: the innermost one."""
    if _end:
        _end(0 if name is None else _number_of(name))


def load_ipython_extension(ipython):
    """%load_ext hpctop: the magics of hpctop_notebook.py."""
    import hpctop_notebook

    hpctop_notebook.load_ipython_extension(ipython)


class region:
    """A region for a with statement, or for all calls of a function."""

    __slots__ = ("_number",)

    def __init__(self, name):
        self._number = _number_of(name) if _begin else 0

    def __enter__(self):
        if self._number:
            _begin(self._number)
        return self

    def __exit__(self, kind, value, traceback):
        if self._number:
            _end(self._number)
        return False

    def __call__(self, function):
        if not self._number:
            return function

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inside
