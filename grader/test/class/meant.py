"""meant.py: cases of layouts.py about files that may have been meant: under a name of their own beside the untouched
exercise, and two for the same lesson."""

from cases import Case, exercise, zipped

AS_IT_WAS = "the exercise as it was handed out"
WANTED = "; wanted: vector_add.cu"
MARK = "_assignsubmission_file_/"


def untouched(c, name, files, lesson="01", text=None, wanted=WANTED, note=""):
    """All that counts is the untouched exercise: the row names what else lies there, and the run does."""
    c.taken(name, text or exercise(), lesson, note=f"{AS_IT_WAS}{note}; handed in: {files}{wanted}")
    c.todo(f"{name}, lesson {lesson}: {AS_IT_WAS}; handed in: {files}{wanted}")


def meant():
    given, other = exercise(), exercise("02_transpose/transpose.cu")
    # Names of their own, archives that cannot be read; no other exercise as it was, and no report.
    c = Case("meant_plain")
    c.file("ada/vector_add.cu", given)
    c.file("ada/work/red.cu", "ada")
    untouched(c, "ada", "red.cu")
    c.file("bob.zip", zipped({"vector_add.cu": given, "x/vector_add_bob.cu": "bob", "x/transpose.cu": other}))
    untouched(c, "bob", "vector_add_bob.cu")
    c.file("carl/vector_add.cu", given)
    c.file("carl/work.rar", "Rar!")
    untouched(c, "carl", "work.rar")
    c.file("dora/vector_add.cu", given)
    c.file("dora/hw.ipynb", "dora")
    untouched(c, "dora", "hw.ipynb")
    c.file("eve/vector_add.cu", given)
    c.file("eve/transpose.cu", other)
    c.file("eve/report.pdf", "x")
    c.taken("eve", given, note=AS_IT_WAS)
    c.file("fay/vector_add.cu", given)
    c.file("fay/transpose.cu", other + "// mine\n")
    untouched(c, "fay", "transpose.cu (of lesson 02)")
    # So without the exercise.
    c.file("gus/work/red.cu", "gus")
    c.missing("gus", "handed in: red.cu" + WANTED)
    c.todo("gus, lesson 01: handed in: red.cu" + WANTED)
    c.file("hal/transpose.cu", other + "// mine\n")
    c.missing("hal", "handed in: transpose.cu (of lesson 02)" + WANTED)
    c.todo("hal, lesson 01: handed in: transpose.cu (of lesson 02)" + WANTED)
    # An empty file hides no other, and what cannot be taken hides no name.
    c.file("ida/a/vector_add.cu", "ida")
    c.file("ida/b/vector_add.cu", "", hours=2)
    c.taken("ida", "ida")
    c.file("jan/vector_add.cu", "")
    c.file("jan/red.cu", "jan")
    c.line("jan", "not taken", note="an empty file; handed in: red.cu" + WANTED)
    c.close()
    # Nothing of these counts, and each is to be looked at. No system's files are named.
    c = Case("meant_alone", lesson="01,21")
    c.file("ada/hw.7z", "7z")
    for lesson in ("01", "21"):
        c.line("ada", "not taken", lesson, "hw.7z: a .7z archive cannot be read here; a .zip can")
    c.file("bob/hw.pdf", "pdf")
    c.file("bob/Thumbs.db", "x")
    for lesson, file in (("01", "vector_add.cu"), ("21", "answers.txt")):
        c.missing("bob", f"handed in: hw.pdf; wanted: {file}", lesson)
        c.todo(f"bob, lesson {lesson}: handed in: hw.pdf; wanted: {file}")
    c.file("carl/vector_add.cu", "")
    c.line("carl", "not taken", note="an empty file")
    c.missing("carl", "", "21")
    c.file("dora/transpose.cu", "of another lesson")
    c.file("dora/answers.txt", "dora")
    c.missing("dora", "handed in: transpose.cu (of lesson 02)" + WANTED)
    c.todo("dora, lesson 01: handed in: transpose.cu (of lesson 02)" + WANTED)
    c.taken("dora", "dora", "21")
    c.file("eve/Thumbs.db", "x")
    c.file("eve/desktop.ini", "x")
    for lesson, file in (("01", "vector_add.cu"), ("21", "answers.txt")):
        c.missing("eve", f"handed in: nothing that can be read; wanted: {file}", lesson)
    c.close()
    # One that stands there alone is enough.
    for name, file, data in (("meant_shut", "hw.rar", "Rar!"), ("meant_empty", "vector_add.cu", ""),
                             ("meant_other", "transpose.cu", other + "// mine\n"), ("meant_paper", "hw.pdf", "x")):
        c = Case(name)
        c.file(f"ada/{file}", data)
        if name in ("meant_shut", "meant_empty"):
            c.line("ada", "not taken", note="an empty file" if not data else "hw.rar: a .rar archive cannot be read here; a .zip can")
        else:
            note = f"handed in: {file}{' (of lesson 02)' if name == 'meant_other' else ''}{WANTED}"
            c.missing("ada", note)
            c.todo("ada, lesson 01: " + note)
        c.close()
    c = Case("meant_moodle")
    c.file("COURSE-1.zip", zipped({f"Ada Lovelace_11{MARK}vector_add.cu": given, f"Ada Lovelace_11{MARK}vector_add_ada.cu": "x",
                                   f"Grace Hopper_12{MARK}hw.zip": zipped({"x/vector_add.cu": given, "x/red.cu": "x"}),
                                   f"Zoë_13{MARK}vector_add.cu": "zoe"}, flag_utf8=True))
    untouched(c, "Ada Lovelace", "vector_add_ada.cu")
    untouched(c, "Grace Hopper", "red.cu")
    c.taken("Zoë", "zoe")
    c.close()
    c = Case("meant_canvas")
    c.file("lovelaceada_11_5_vector_add.cu", given)
    c.file("lovelaceada_11_6_my kernel.cu", "x")
    c.file("hoppergrace_LATE_12_7_vector_add.cu", given)
    c.file("hoppergrace_12_3_red.cu", "x")
    untouched(c, "lovelaceada", "my kernel.cu")
    c.taken("hoppergrace", given, late=True, note=f"{AS_IT_WAS}; handed in: red.cu{WANTED}")
    c.todo(f"hoppergrace, lesson 01: {AS_IT_WAS}; handed in: red.cu{WANTED}")
    c.close()
    c = Case("meant_gradescope")
    c.file("submission_metadata.yml", "submission_1:\n  :submitters:\n  - :name: Ada\n  - :name: Bob\n")
    c.file("submission_1/vector_add.cu", given)
    c.file("submission_1/red.cu", "x")
    untouched(c, "Ada", "red.cu")
    untouched(c, "Bob", "red.cu")
    c.close()
    # A template has all exercises: what a student changed is named, and nothing else of it.
    c = Case("meant_classroom", submissions="hw-submissions")
    for user in ("ada", "bob", "carl", "dora", "eve"):
        c.file(f"hw-{user}/exercises/01_vector_add/vector_add.cu", given)
        c.file(f"hw-{user}/exercises/02_transpose/transpose.cu", other + ("// mine\n" if user == "ada" else ""))
        c.file(f"hw-{user}/extra/tools.cu", "old" if user != "carl" else "carl's")
        c.file(f"hw-{user}/grader/07_tensor_core_matmul/naive.cu", "of an older template")
    c.file("hw-bob/exercises/01_vector_add/vector_add_v2.cu", "bob")
    untouched(c, "ada", "transpose.cu (of lesson 02)")
    untouched(c, "bob", "vector_add_v2.cu")
    untouched(c, "carl", "tools.cu")
    c.taken("dora", given, note=AS_IT_WAS)
    c.taken("eve", given, note=AS_IT_WAS)
    c.skipped("", "extra/tools.cu", "the template's, and 12 more: nobody worked on them")
    c.skipped("ada", "hw-ada/exercises/02_transpose/transpose.cu", "of a lesson that this run does not grade")
    c.skipped("bob", "hw-bob/exercises/01_vector_add/vector_add_v2.cu", "not called as a lesson's file")
    c.close()
    answers = exercise("21_flop_counting/answers.txt")
    c = Case("meant_text", lesson="01,21")
    c.file("ada/answers.txt", answers)
    c.file("ada/flops.txt", "ada")
    c.file("ada/vector_add.cu", "ada")
    c.taken("ada", "ada")
    untouched(c, "ada", "flops.txt", "21", answers, "; wanted: answers.txt")
    c.file("bob/exercises/21_flop_counting/answers.txt", answers)
    c.file("bob/exercises/01_vector_add/vector_add.cu", given)
    c.file("bob/answers.md", "bob")
    untouched(c, "bob", "answers.md", "21", answers, "; wanted: answers.txt")
    c.taken("bob", given, note=AS_IT_WAS)
    c.close()
    # In another hand-in of the same student
    c = Case("meant_twice")
    c.file("ada/vector_add.cu", given)
    c.file("ada.zip", zipped({"red.cu": "ada"}), hours=5)
    untouched(c, "ada", "red.cu")
    c.close()
    # In UTF-16 it is the untouched exercise, too.
    c = Case("meant_utf16")
    c.file("ada/vector_add.cu", given.encode("utf-16"))
    c.file("ada/red.cu", "ada")
    untouched(c, "ada", "red.cu", text=given.encode("utf-16"))
    c.close()
    # The instructor's own line is the answer.
    c = Case("meant_decided")
    c.in_out("overrides.csv", "student,lesson,points,reason\nada,01,0,a library of somebody else\n")
    c.file("ada/vector_add.cu", given)
    c.file("ada/red.cu", "ada")
    c.taken("ada", given, note=f"{AS_IT_WAS}; handed in: red.cu{WANTED}")
    c.close()


def two_files():
    noon = "2026-11-20 12:00"
    unclear = ", and no time says which is the later one"
    # The later one counts, loose or in an archive, whatever it is called.
    c = Case("two_times")
    c.file("ada/vector_add.cu", "old")
    c.file("ada/hw.zip", zipped({"vector_add.cu": "new"}), hours=48)
    c.taken("ada", "new", note="hw.zip/vector_add.cu of 2026-11-22 12:00 counts, and not vector_add.cu of " + noon)
    c.file("bob/vector_add.cu", "new", hours=48)
    c.file("bob/hw.zip", zipped({"x/vector_add.cu": "old"}))
    c.taken("bob", "new", note="vector_add.cu of 2026-11-22 12:00 counts, and not hw.zip/x/vector_add.cu of " + noon)
    c.file("carl/vector_add (1).cu", "one")
    c.file("carl/vector_add (2).cu", "two", hours=1)
    c.taken("carl", "two", note="vector_add (2).cu of 2026-11-20 13:00 counts, and not vector_add (1).cu of " + noon)
    c.file("dora/exercises/01_vector_add/vector_add.cu", "old")
    c.file("dora/vector_add.cu.txt", "new", hours=1)
    c.taken("dora", "new", note="vector_add.cu.txt of 2026-11-20 13:00 counts, and not "
            "exercises/01_vector_add/vector_add.cu of " + noon)
    c.file("eve/vector_add.cu", "eve")
    c.file("eve/copy/vector_add.cu", "eve", hours=1)
    c.taken("eve", "eve")
    c.close()
    # No time says it: both are named.
    c = Case("two_unclear")
    c.file("ada/a/vector_add.cu", "one")
    c.file("ada/b/vector_add.cu", "two")
    c.taken("ada", "one", note="a/vector_add.cu counts, and not b/vector_add.cu")
    c.todo("ada, lesson 01: a/vector_add.cu counts, and not b/vector_add.cu" + unclear)
    c.file("bob/vector_add.cu", "one")
    c.file("bob/vector_add (1).cu", "two", hours=1 / 3600)
    c.taken("bob", "one", note="vector_add.cu counts, and not vector_add (1).cu")
    c.todo("bob, lesson 01: vector_add.cu counts, and not vector_add (1).cu" + unclear)
    c.file("carl/vector_add (1).cu", "one")
    c.file("carl/vector_add (2).cu", "two")
    note = "two files may be meant; handed in: vector_add (1).cu, vector_add (2).cu" + WANTED
    c.line("carl", "not taken", note=note)
    c.todo("carl, lesson 01: " + note)
    c.close()
    # A copy gave all the same time: it says nothing of the hand-in, and the run says why.
    c = Case("two_shared")
    c.file("ada/vector_add.cu", "old", hours=-48)
    c.file("ada/second try/vector_add.cu", "new")
    for name in ("bob", "carl"):
        c.file(f"{name}/vector_add.cu", name)
        c.taken(name, name)
    which = f"second try/vector_add.cu of {noon} counts, and not vector_add.cu of 2026-11-18 12:00"
    c.taken("ada", "new", note=which)
    c.todo(f"ada, lesson 01: {which}, and the later time is also that of the other hand-ins")
    c.close()
    # So of two hand-ins, a second apart
    c = Case("two_handins")
    c.file("dora/vector_add.cu", "one")
    c.file("dora.zip", zipped({"vector_add.cu": "two"}), hours=1 / 3600)
    c.taken("dora", "two", note="handed in more than once; no time says which is the latest, this counts: dora.zip")
    c.todo("dora, lesson 01: handed in more than once, and no time says which is the latest. dora.zip counts, and not dora.")
    c.close()
    # In an archive the files' own times
    c = Case("two_in_zip")
    c.file("ada.zip", zipped({"a/vector_add.cu": ("old", 0), "b/vector_add.cu": ("new", 5)}))
    c.taken("ada", "new", note=f"b/vector_add.cu of 2026-11-20 17:00 counts, and not a/vector_add.cu of {noon}")
    c.file("bob.zip", zipped({"a/vector_add.cu": "one", "b/vector_add.cu": "two"}))
    c.taken("bob", "one", note="a/vector_add.cu counts, and not b/vector_add.cu")
    c.todo("bob, lesson 01: a/vector_add.cu counts, and not b/vector_add.cu" + unclear)
    c.close()
    # Gradescope's files have the time of the export.
    c = Case("two_gradescope")
    c.file("submission_metadata.yml", "submission_1:\n  :submitters:\n  - :name: Ada\n")
    c.file("submission_1/vector_add.cu", "one")
    c.file("submission_1/vector_add (1).cu", "two", hours=5)
    c.taken("Ada", "one", note="vector_add.cu counts, and not vector_add (1).cu")
    c.todo("Ada, lesson 01: vector_add.cu counts, and not vector_add (1).cu" + unclear)
    c.close()
    # Canvas has numbers.
    c = Case("two_canvas_attempts")
    c.file("lovelaceada_11_5_vector_add.cu", "old")
    c.file("lovelaceada_11_9_vector_add (1).cu", "new")
    c.taken("lovelaceada", "new", note="vector_add (1).cu counts, and not vector_add.cu")
    c.file("weissjw_12_6_hw.zip", zipped({"vector_add.cu": "new"}))
    c.file("weissjw_12_4_vector_add.cu", "old")
    c.taken("weissjw", "new", note="hw.zip/vector_add.cu counts, and not vector_add.cu")
    c.close()
    # What cannot be read, and may have come after what counts
    c = Case("two_beside")
    c.file("ada/vector_add.cu", "ada")
    c.file("ada/hw.rar", "Rar!", hours=5)
    why = "beside it hw.rar: a .rar archive cannot be read here; a .zip can"
    c.taken("ada", "ada", note=why)
    c.todo("ada, lesson 01: " + why)
    c.file("bob/vector_add.cu", "bob", hours=9)
    c.file("bob/hw.rar", "Rar!")
    c.taken("bob", "bob")
    c.file("carl/vector_add.cu", "carl")
    c.file("carl/new/vector_add.cu", "x" * 1100000, hours=5)
    c.taken("carl", "carl", note="beside it another, larger than 1 MiB")
    c.todo("carl, lesson 01: beside it another, larger than 1 MiB")
    c.close()
