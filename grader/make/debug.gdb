# debug.gdb: what gdb does at once in `make debug`: runs the case and stops where the CPU device has
# something to say, in the student's own frame. DEBUG_SOURCE: the student's file.
set confirm off
set pagination off
set print thread-events off
# faults are explained by the device; what it cannot explain stops as well
handle SIGSEGV SIGBUS SIGFPE nostop noprint pass
break cudev_on_error
break cudev_unexplained_fault
run
python
import os

def select_student_frame():
    source = os.path.basename(os.environ.get("DEBUG_SOURCE", ""))
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        print("The program ran to its end without a diagnosis. For a wrong result: break LINE, then run.")
        return
    while frame is not None:
        place = frame.find_sal().symtab
        if place is not None and os.path.basename(place.filename) == source:
            frame.select()
            print("\nStopped in your code (info locals, print NAME, up, down):")
            gdb.execute("frame")
            if not os.isatty(0):
                gdb.execute("backtrace")
            return
        frame = frame.older()

select_student_frame()
end
