# debug.gdb: what gdb does at once in `make debug`: runs the case and stops where the CPU device has
# something to say, in the student's own frame. DEBUG_SOURCE: the student's file. DEBUG_LINES: the
# lines that the grade has named; a finding stops at one of them, if there are some.
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

def student_frame(frame):
    while frame is not None:
        place = frame.find_sal()
        if place.symtab is not None and os.path.basename(place.symtab.filename) == source:
            return frame
        frame = frame.older()
    return None

def stop_where_it_was_named():
    gdb.execute("run")
    while True:
        try:
            frame = gdb.selected_frame()
        except gdb.error:
            return print("The program ran to its end without a diagnosis. For a wrong result: break LINE, then run.")
        own = student_frame(frame)
        found = frame.name() == "cudev_found"
        if own is not None and not (found and lines and str(own.find_sal().line) not in lines):
            break
        if not found:
            return
        gdb.execute("continue", to_string=True)
    own.select()
    print("\nStopped in your code (info locals, print NAME, up, down):")
    gdb.execute("frame")
    if not os.isatty(0):
        gdb.execute("backtrace")

stop_where_it_was_named()
end
