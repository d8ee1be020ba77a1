# SPDX-License-Identifier: Apache-2.0
"""Runs under one interpreter, captures its own frames from every kind of place and checks each line by name.

Usage: victim.py PROBE_LIBRARY. Prints one line per check, and ends with 1 at the first wrong one. Python 3.6 syntax."""
import ctypes
import gc
import os
import sys
import threading

LIBRARY = sys.argv[1]
released = ctypes.CDLL(LIBRARY)  # ctypes drops the GIL around each call
held = ctypes.PyDLL(LIBRARY)     # and keeps it here
released.probe_cost.restype = ctypes.c_double
VERSION = sys.version_info[:2]
# 3.9 neither exports its dump routine nor describes its structures.
EXPECT_FRAMES = VERSION != (3, 9)


def capture(library, entry="probe_capture"):
    text = ctypes.create_string_buffer(1 << 17)
    getattr(library, entry)(text, len(text))
    return parse(text.value.decode())  # call_line: frames say this function at the line above


def parse(text):
    lines = text.split("\n")[:-1]
    frames = [tuple(line.split("\t")) for line in lines[:-1]]
    return [(file, int(number), function) for file, number, function in frames], lines[-1].split("\t")[1]


def expected_frames(first):
    """What the interpreter itself says, from `first` outwards."""
    frames = []
    while first is not None:
        frames.append((first.f_code.co_filename, first.f_lineno, first.f_code.co_name))
        first = first.f_back
    return frames


def fail(name, *what):
    print("FAIL", name, *what)
    sys.stdout.flush()
    os._exit(1)


def check(name, got, want=None, reason=""):
    frames, said = got
    if not EXPECT_FRAMES:
        wanted_reason = "python frames unavailable: CPython %d.%d exports no traceback dump" % VERSION
        if frames or said not in (wanted_reason, ""):
            fail(name, got)
    else:
        if said != reason:
            fail(name, "reason", repr(said))
        if want is not None and frames[1:] != want:  # the first frame is capture() itself
            fail(name, "\n got:", frames[1:], "\nwant:", want)
        if frames and (frames[0][2] != "capture" or frames[0][1] != capture.__code__.co_firstlineno + 2):
            fail(name, "innermost", frames[0])
    print("ok", name)


def here():
    return expected_frames(sys._getframe(1))


def same_line(library):
    return capture(library), here()  # one line, so that both see the same number


def deep(library, left):
    if left == 0:
        return same_line(library)
    return deep(library, left - 1)


class Thing:
    def method(self, library):
        def closure():
            return [same_line(library) for _ in range(1)][0]
        return closure()

    def __del__(self):
        Thing.seen = same_line(released)


def generator(library):
    yield same_line(library)


async def coroutine(library):
    return same_line(library)


def run_coroutine(library):
    try:
        coroutine(library).send(None)
    except StopIteration as stop:
        return stop.value


def from_c_callback(library):
    """Python below C below Python: an entry frame lies between."""
    return max([1], key=lambda _: results.append(same_line(library)) or 0)


for mode, library in (("GIL released", released), ("GIL held", held)):
    check("plain call, " + mode, *same_line(library))
    check("20 deep, " + mode, *deep(library, 20))
    check("closure in a method, " + mode, *Thing().method(library))
    check("generator, " + mode, *next(generator(library)))
    check("coroutine, " + mode, *run_coroutine(library))
    results = []
    from_c_callback(library)
    check("callback from C, " + mode, *results[0])

    results = []
    thread = threading.Thread(target=lambda: results.append(same_line(library)))
    thread.start()
    thread.join()
    check("thread of Python, " + mode, *results[0])

    frames, reason = capture(library, "probe_capture_in_c_thread")
    if frames or reason:
        fail("thread without Python, " + mode, frames, reason)
    print("ok thread without Python, " + mode)

thing = Thing()
del thing  # the line of a del, as of a freed tensor
check("__del__", *Thing.seen)

got, want = deep(released, 150)
if EXPECT_FRAMES:
    frames, reason = got
    if len(frames) != 100 or frames[1:] != want[:99] or reason != "python frames incomplete: cut at the innermost 100":
        fail("150 deep", len(frames), reason)
    print("ok 150 deep")

# Names that are no ASCII, a file name that looks like the dump's own text, long lines of code, and far line numbers.
ODD = '/tmp/\u00e9\u4e2d\U0001f600", line 7 in x\\x41 y/mod.py'
source = "\n" * 5000 + "def \u00fcber\u00e4(library):\n    x = [\n        1,\n        2]\n    return same_line(library)\n"
space = {"same_line": same_line}
exec(compile(source, ODD, "exec"), space)
check("odd names", *space["\u00fcber\u00e4"](released))

long_file = "/" + "d" * 700 + "/m.py"
exec(compile("def f(library): return same_line(library)", long_file, "exec"), space)
got, want = space["f"](released)
if EXPECT_FRAMES:
    file = got[0][2][0]
    if file != long_file and file != long_file[:500] + "...":
        fail("long file name", file)
    print("ok long file name")

many = "def f(library):\n" + "".join("    a%d = %d\n" % (i, i) for i in range(3000)) + "    return same_line(library)\n"
exec(compile(many, "many.py", "exec"), space)
check("function of 3000 lines", *space["f"](released))

sys.settrace(lambda frame, event, arg: None)
check("under a tracer", *same_line(released))
sys.settrace(None)

# Many threads at once, with the GIL going round and objects dying: nothing may crash, every stack must be its own.
def hammer(number):
    library = released if number % 2 else held
    for i in range(200):
        frames, reason = capture(library)
        if EXPECT_FRAMES and (reason or frames[1][2] != "hammer"):
            fail("hammer", frames, reason)
        if i % 50 == 0:
            gc.collect()


threads = [threading.Thread(target=hammer, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("ok 8 threads at once")

if held.probe_native_starts_outside() != 1:
    fail("native frames of the own library are dropped")
print("ok native frames of the own library are dropped")

child = os.fork()
if child == 0:
    check("forked child", *same_line(released))
    sys.stdout.flush()
    os._exit(0)
if os.waitpid(child, 0)[1] != 0:
    fail("forked child")

# Sub-interpreter, GIL held: its own frames, not those of the interpreter that started it.
try:
    try:
        import _xxsubinterpreters as subinterpreters
    except ImportError:
        import _interpreters as subinterpreters
except ImportError:
    subinterpreters = None
if subinterpreters is not None and EXPECT_FRAMES and VERSION >= (3, 10):
    script = """
import ctypes
def inside():
    text = ctypes.create_string_buffer(1 << 16)
    ctypes.PyDLL(%r).probe_capture(text, len(text))
    return text.value.decode()
text = inside()
if "inside" not in text.split("\\n")[0]:
    import os
    print("FAIL sub-interpreter", text, flush=True)
    os._exit(1)
""" % LIBRARY
    interpreter = subinterpreters.create("legacy") if VERSION >= (3, 13) else (
        subinterpreters.create(isolated=False) if VERSION < (3, 13) else None)
    error = subinterpreters.run_string(interpreter, script)
    if error is not None:
        fail("sub-interpreter", error)
    subinterpreters.destroy(interpreter)
    print("ok sub-interpreter")


def cost(left):
    return released.probe_cost(2000) if left == 0 else cost(left - 1)


print("cost of a capture 20 deep: %.1f us" % (cost(19) / 1000))
sys.stdout.flush()
