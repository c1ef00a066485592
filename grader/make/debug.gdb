# debug.gdb: what gdb does at once in `make debug`: runs the case and stops where the CPU device has
# something to say, in the student's own frame. DEBUG_SOURCE: the student's file. DEBUG_LINES: the
# lines that the grade has named; a finding stops at one of them, if there are some. DEBUG_ELEMENT:
# the first wrong element, if it has named none; who stores it stops, too (run/run.c).
# DEBUG_WRONG: what the grade says of this element.
set confirm off
set pagination off
set print thread-events off
# faults are explained by the device; what it cannot explain stops as well
handle SIGSEGV SIGBUS SIGFPE nostop noprint pass
break cudev_on_error
break cudev_unexplained_fault
break cudev_found
python
import os

source = os.path.basename(os.environ.get("DEBUG_SOURCE", ""))
lines = os.environ.get("DEBUG_LINES", "").split()
element = os.environ.get("DEBUG_ELEMENT", "")
wrong = os.environ.get("DEBUG_WRONG", "")
hits = []  # the breakpoints of the last stop

def note_stop(event):
    hits[:] = getattr(event, "breakpoints", [])

gdb.events.stop.connect(note_stop)

def student_frame(frame):
    while frame is not None:
        place = frame.find_sal()
        if place.symtab is not None and os.path.basename(place.symtab.filename) == source:
            return frame
        frame = frame.older()
    return None

# The element's address and size are the arguments of the function at which the program stands.
def watch_element(frame):
    first, second = ("x0", "x1") if "aarch64" in frame.architecture().name() else ("rdi", "rsi")
    address = int(gdb.parse_and_eval("(unsigned long)$" + first))
    kind = {1: "char", 2: "short", 4: "int", 8: "long"}[int(gdb.parse_and_eval("(int)$" + second))]
    place = "*(unsigned %s*)%d" % (kind, address)
    watch = gdb.Breakpoint(place, gdb.BP_WATCHPOINT, gdb.WP_WRITE, True)
    watch.silent = True
    return watch

def resume(command):
    try:
        gdb.execute(command, to_string=command != "run")
        return True
    except gdb.error as error:
        print("No store can be watched here: %s" % error)
        return False

def stop_where_it_was_named():
    watch = None
    if element:
        gdb.Breakpoint("run_debug_element", internal=True).silent = True
    resume("run")
    while True:
        try:
            frame = gdb.selected_frame()
        except gdb.error:
            if watch is not None:
                return print("No store changed that element: %s" % wrong)
            return print("The program ran to its end without a diagnosis. For a wrong result: break LINE, then run.")
        if frame.name() == "run_debug_element":
            watch = watch_element(frame)
            if not resume("continue"):
                watch.delete()
                watch = None
                resume("continue")
            continue
        own = student_frame(frame)
        found = frame.name() == "cudev_found"
        stored = watch is not None and watch in hits
        if own is not None and not (found and lines and str(own.find_sal().line) not in lines):
            break
        if not found and not stored:
            return
        if not resume("continue"):
            return
    own.select()
    if stored:
        print("\nThis is the first wrong element: %s" % wrong)
        print("It was stored just before the line below; continue goes on to the next store of it.")
    print("\nStopped in your code (info locals, print NAME, up, down):")
    gdb.execute("frame")
    if not os.isatty(0):
        gdb.execute("backtrace")

stop_where_it_was_named()
end
