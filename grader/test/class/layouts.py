"""layouts.py: makes hand-ins in the layouts in which they come back, and says what has to count.

usage: layouts.py DIR     writes DIR/CASE/submissions (or submissions.zip), DIR/CASE/options for
make class, and DIR/CASE/expected: what DRY=yes has to print, sorted; where a student's file is
taken, DIR/CASE/taken/ID/LESSON has what it must be. DIR/CASE/ends is the status with which the
program has to end, and DIR/CASE/todo has what it must say then.

The layouts are those of Moodle's mod/assign/classes/downloader.php, Canvas's lib/content_zipper.rb
and lib/gradebook_exporter.rb, GitHub's gh-classroom (clone student-repos) and Gradescope's export.
"""

import hashlib
import os
import sys
import time

sys.dont_write_bytecode = True
from cases import CU, DUE, NOON, PEOPLE, TXT, Case, exercise, zipped  # noqa: E402
from meant import meant, two_files  # noqa: E402
from owners import downloads, numbers, rosters, same_names, teams  # noqa: E402


def plain():
    c = Case("plain", roster="student,email\nada,ada@example.org\nabsent,\nlea,\nmax,m@example.org\n")
    c.file("ada/x/vector_add.cu", "ada")
    c.taken("ada", "ada")
    c.missing("absent")
    wanted = "; wanted: vector_add.cu"
    # Zips of Windows, macOS and Python: names in UTF-8 and flagged, or in the code page of DOS.
    for name, options in {"utf8": {"flag_utf8": True}, "dos": {}, "bytes": {"charset": "latin-1"}}.items():
        c.file(f"{name}.zip", zipped({"Lösung é/vector_add.cu": name}, **options))
        c.taken(name, name, note="")
    c.file("named.zip", zipped({"Übung.cu": "x"}, flag_utf8=True))
    c.missing("named", "handed in: Übung.cu" + wanted)
    # Archives in folders and in archives
    inner = zipped({"vector_add.cu": "inner"})
    c.file("nested/work.zip", inner)
    c.taken("nested", "inner")
    c.file("deep.zip", zipped({"a/b.zip": zipped({"c/work.zip": inner})}))
    c.taken("deep", "inner")
    c.file("torn/work.zip", "no zip")
    c.line("torn", "not taken", note="work.zip: no archive, or a broken one")
    c.file("torninside.zip", zipped({"work.zip": "no zip"}))
    c.line("torninside", "not taken", note="work.zip: no archive, or a broken one")
    # What was handed in is said, and what was wanted.
    c.file("near/vector_add_final (2).cu", "x")
    c.file("near/notes.pdf", "x")
    c.missing("near", "handed in: vector_add_final (2).cu" + wanted)
    c.skipped("near", "near/vector_add_final (2).cu", "not called as a lesson's file")
    c.file("empty/vector_add.cu", "")
    c.line("empty", "not taken", note="an empty file")
    c.skipped("empty", "empty/vector_add.cu", "an empty file")
    c.file("far/report.pdf", "x")
    c.file("far/a.docx", "x")
    c.missing("far", "handed in: a.docx, report.pdf" + wanted)
    c.file("none/.keep", "")
    c.missing("none", "handed in: nothing that can be read" + wanted)
    c.file("shout/VECTOR_ADD.CU", "shout")
    c.taken("shout", "shout", note="handed in as VECTOR_ADD.CU")
    c.file("copy/vector_add (1).cu", "copy")
    c.taken("copy", "copy", note="handed in as vector_add (1).cu")
    c.file("copies/vector_add (1).cu", "one")
    c.file("copies/vector_add (2).cu", "two")
    c.line("copies", "not taken", note="two files may be meant; handed in: vector_add (1).cu, "
           "vector_add (2).cu" + wanted)
    c.skipped("copies", "copies/vector_add (1).cu", "two files may be meant")
    c.file("windows/vector_add.cu.txt", "windows")
    c.taken("windows", "windows", note="handed in as vector_add.cu.txt")
    c.file("twice (1).cu", "old")
    c.file("twice (2).cu", "new", hours=1)
    c.taken("twice", "new", note="handed in more than once; the latest counts: twice (2).cu")
    c.skipped("twice", "twice (1).cu", "another file counts")
    c.file("worse/vector_add2.cu", "x", hours=1)
    c.file("worse.zip", "no zip")
    c.line("worse", "not taken", note="no archive, or a broken one; worse: handed in: "
           "vector_add2.cu" + wanted)
    c.file("places/a/vector_add.cu", "old")
    c.file("places/b/vector_add.cu", "new", hours=1)
    c.file("places/c/vector_add.cu", "new", hours=1)
    c.taken("places", "new", note="b/vector_add.cu of 2026-11-20 13:00 counts, and not a/vector_add.cu of "
            "2026-11-20 12:00")
    # A browser calls a corrected file another one: the later one counts, both are named.
    c.file("both/vector_add (1).cu", "one", hours=2)
    c.file("both/vector_add.cu", "right")
    c.taken("both", "one", note="vector_add (1).cu of 2026-11-20 14:00 counts, and not vector_add.cu of "
            "2026-11-20 12:00")
    c.file("old/vector_add.cu", "right")
    c.file("old/before/vector_add.cu", "one")
    c.file("old/grader/test/vector_add.cu", "the grader's")
    c.taken("old", "right", note="vector_add.cu counts, and not before/vector_add.cu")
    c.file("rar.rar", "Rar!")
    c.line("rar", "not taken", note="rar.rar: a .rar archive cannot be read here; a .zip can")
    for name in ("sevenzip.zip", "seventar.tar"):
        c.file(name, zipped({"work.7z": "7z", "__MACOSX/._work.7z": "7z"}))
        c.line(name[:8], "not taken", note="work.7z: a .7z archive cannot be read here; a .zip can")
    c.file("seven/__MACOSX/._work.zip", "no zip")
    c.file("seven/work.7z", "7z")
    c.line("seven", "not taken", note="work.7z: a .7z archive cannot be read here; a .zip can")
    c.file("large/vector_add.cu", "x" * 1100000)
    c.line("large", "not taken", note="larger than 1 MiB")
    locked = bytearray(zipped({"vector_add.cu": "x"}))
    locked[6] |= 1  # the flag of a password, here and in the list at the end
    locked[locked.index(b"PK\1\2") + 8] |= 1
    c.file("locked.zip", bytes(locked))
    c.line("locked", "not taken", note="it is locked with a password")
    inner = zipped({"vector_add.cu": "x"})
    for _ in range(4):
        inner = zipped({"inner.zip": inner})
    c.file("five.zip", inner)
    c.line("five", "not taken", note="inner.zip: an archive in too many others")
    # Of somebody on the roster, whatever it is.
    c.file("lea_my_kernel (2).cu", "lea")
    c.file("lea_report.pdf", "x")
    c.missing("lea", "handed in: lea_my_kernel (2).cu" + wanted)
    c.file("max.cu", "max")
    c.taken("max", "max")
    c.file("max-paul.cu", "max-paul")
    c.taken("max-paul", "max-paul")
    # What is of a lesson that this run does not grade is called so.
    c.file("lost/transpose (1).cu", "x")
    c.missing("lost", "handed in: transpose (1).cu (of lesson 02)" + wanted)
    c.skipped("lost", "lost/transpose (1).cu", "of a lesson that this run does not grade")
    # Nobody's files make no students.
    for name in ["README.txt", "Thumbs.db", "__MACOSX/._ada", ".DS_Store", "notes.pdf", "Makefile",
                 "vector_add.cu", "bob_12_flash_forward.cu"]:
        c.file(name, "x")
    # Names as people write them; two spellings that Unicode holds for one; what cannot be shown.
    c.file("Zoë Müller.cu", "zoe")
    c.taken("Zoë Müller", "zoe")
    c.file("Rene\u0301 O'Neil \"x\"_01_vector_add.cu", "rene")
    c.taken("Ren\u00e9 O'Neil \"x\"", "rene")
    c.file(b"caf\xe9.cu", "cafe")
    c.taken("café", "cafe")
    c.file("two\nlines.cu", "two")
    c.taken("two?lines", "two", id="two_lines ~" + hashlib.sha256(b"two\nlines").hexdigest()[:8])
    c.file("esc/\x1b[31mvector_add.cu\n", "x")
    c.missing("esc", "handed in: ?[31mvector_add.cu?" + wanted)
    c.file("kim_vector_add (1).cu", "kim")
    c.taken("kim", "kim")
    os.symlink("/etc/passwd", os.path.join(c.to, "link.cu"))
    c.line("link", "not taken", note="a symbolic link")
    c.lines = [line if line.startswith(("ada:", "absent:", "lea:", "max:")) else line + " (not on the roster)"
               for line in c.lines]
    c.todo("vector_add.cu: nobody knows whose it is", "not on the roster, so that no export has their points")
    c.close()


def latest():
    c = Case("latest", lesson="01,21")
    # The zip came later: it counts, and nothing of the folder.
    c.file("ada/vector_add.cu", "old")
    c.file("ada/answers.txt", "old")
    c.file("ada.zip", zipped({"vector_add.cu": "new"}), hours=5)
    c.taken("ada", "new", note="handed in more than once; the latest counts: ada.zip")
    c.skipped("ada", "ada/answers.txt", "a later hand-in counts")
    c.missing("ada", "ada of 2026-11-20 12:00 has it, and does not count: the latest counts as a whole", "21")
    # The folder came later.
    c.file("bob/vector_add.cu", "new", hours=9)
    c.file("bob.zip", zipped({"vector_add.cu": "old"}), hours=5)
    c.taken("bob", "new", note="handed in more than once; the latest counts: bob")
    c.missing("bob", "", "21")
    # One file for each lesson is no second hand-in.
    c.file("carl_01_vector_add.cu", "carl")
    c.file("carl_21_flop_counting.txt", "carl", hours=50)
    c.taken("carl", "carl")
    c.taken("carl", "carl", "21")
    # A second one that is torn hides nothing.
    c.file("dora.zip", "no zip", hours=70)
    c.file("dora/vector_add.cu", "dora")
    c.taken("dora", "dora", note="dora.zip of 2026-11-23 10:00: no archive, or a broken one")
    c.missing("dora", "dora.zip of 2026-11-23 10:00: no archive, or a broken one", "21")
    # No time tells them apart.
    c.file("eve/vector_add.cu", "first")
    c.file("eve.zip", zipped({"vector_add.cu": "second"}))
    c.taken("eve", "first", note="handed in more than once; no time says which is the latest, this counts: eve")
    c.missing("eve", "", "21")
    # Nor these, but of the first nobody worked on anything. The note stands there once.
    c.file("fay/vector_add.cu", exercise())
    c.file("fay.zip", zipped({"vector_add.cu": "fay"}))
    c.file("fay_vector_add.cu", "fay")
    c.taken("fay", "fay", note="handed in more than once; no time says which is the latest, this counts: fay.zip")
    c.missing("fay", "", "21")
    # The later one is the exercise as it was handed out.
    c.file("gus/vector_add.cu", "gus")
    c.file("gus.zip", zipped({"vector_add.cu": exercise(), "answers.txt": "new"}), hours=5)
    c.taken("gus", "gus")
    c.taken("gus", "new", "21")
    c.todo("eve, lesson 01: handed in more than once, and no time says which is the latest. eve counts, and not eve.zip")
    c.close()


def moodle():
    worksheet = ('Identifier,"Full name","Email address",Status,Grade,"Maximum Grade",'
                 '"Grade can be changed","Last modified (submission)","Last modified (grade)",'
                 '"Feedback comments"\n')
    for first, last, n in PEOPLE:
        worksheet += (f'"Participant {n}","{first} {last}",u{n}@example.org,"Submitted for grading",'
                      f',50.00,Yes,"Friday, 20 November 2026, 11:58 PM",-,"two\nlines, and ""more"""\n')
    participants = "\ufeff\"First name\",\"Last name\",\"ID number\",\"Email address\"\r\n" + "".join(
        f"{first},{last},{n + 5000},u{n}@example.org\r\n" for first, last, n in PEOPLE[:3])
    for name, roster, flat in (("moodle_folders", worksheet, False), ("moodle_flat", worksheet, True),
                               ("moodle_roster", participants.encode("utf-16"), False)):
        c = Case(name, roster=roster)
        mark = "_assignsubmission_file_" + ("" if flat else "/")
        for first, last, n in PEOPLE[:3]:
            c.file(f"{first} {last}_{n}{mark}vector_add.cu", f"{n}")
        c.file(f"Ada Lovelace_1001_assignsubmission_onlinetext{'_' if flat else '/'}onlinetext.html", "x")
        c.file(f"Anna Schmidt_1004{mark}work.zip", zipped({"vector_add.cu": "1004"}))
        c.taken("Ada Lovelace", "1001")
        c.taken("Jürgen Weiß", "1002")
        if name == "moodle_roster":
            c.taken("Anna Schmidt", "1003")
            c.taken("Anna Schmidt (1004)", "1004", note="")
            c.stranger()
        else:
            c.taken("Anna Schmidt (u1003@example.org)", "1003")
            c.taken("Anna Schmidt (u1004@example.org)", "1004")
        c.close()
    # In a download the time of what a student handed in counts, not those of files in it.
    c = Case("moodle_times", submissions="COURSE-1.zip")
    with open(c.to, "wb") as f:
        f.write(zipped({f"Ada Lovelace_1001{mark}work.zip": zipped({"vector_add.cu": "ada"}, hours=90)},
                       flag_utf8=True, hours=2))
    c.in_out("late_rules.csv", DUE)
    c.taken("Ada Lovelace", "ada", note="")
    c.close()
    # The worksheet knows when they handed in; the files have the time of a copy.
    c = Case("moodle_copied", roster=worksheet.replace("11:58 PM", "1:12 PM", 1).replace("11:58 PM", "12:58 PM", 1)
             .replace("11:58 PM", "23:00", 1))
    c.in_out("late_rules.csv", DUE)
    for first, last, n in PEOPLE[:3]:
        c.file(f"{first} {last}_{n}_assignsubmission_file_/vector_add.cu", f"{n}", hours=90)
    for name, n in (("Ada Lovelace", 1001), ("Jürgen Weiß", 1002), ("Anna Schmidt (u1003@example.org)", 1003)):
        c.taken(name, str(n))
    c.missing("Anna Schmidt (u1004@example.org)")
    c.close()
    # Without it nobody knows, and the run asks.
    c = Case("moodle_unknown", roster=participants)
    c.in_out("late_rules.csv", DUE)
    for first, last, n in PEOPLE[:3]:
        c.file(f"{first} {last}_{n}_assignsubmission_file_/vector_add.cu", f"{n}", hours=90)
        c.taken(f"{first} {last}", str(n))
    c.todo("3 of the files have one time, that of a download or of a copy, and it is after they were due")
    c.close()
    # Two are enough in a download, and in one that came before the date nobody is late.
    for name, hours, count in (("moodle_download", 90, 2), ("moodle_early", 0, 2)):
        c = Case(name, roster=participants)
        c.in_out("late_rules.csv", DUE)
        c.file("COURSE-1.zip", zipped({f"{first} {last}_{n}_assignsubmission_file_/vector_add.cu": str(n)
                                       for first, last, n in PEOPLE[:count]}, flag_utf8=True, hours=hours), hours=hours)
        for first, last, n in PEOPLE[:3]:
            c.taken(f"{first} {last}", str(n)) if n < 1001 + count else c.missing(f"{first} {last}")
        if hours:
            c.todo(f"{count} of the files have one time")
        c.close()
    # One alone, in a zip as old as its file.
    c = Case("moodle_alone", roster=participants)
    c.in_out("late_rules.csv", DUE)
    c.file("COURSE-1.zip", zipped({"Ada Lovelace_1001_assignsubmission_file_/vector_add.cu": "ada"}, hours=90), hours=90)
    c.taken("Ada Lovelace", "ada")
    c.missing("Jürgen Weiß")
    c.missing("Anna Schmidt")
    c.todo("1 of the files have one time")
    c.close()
    # Two downloads as they came, unpacked by nobody; the numbers are others in each.
    c = Case("moodle_zips", lesson="01,21", roster=participants)
    mark = "_assignsubmission_file_/"
    c.file("COURSE-Lesson 1-77.zip", zipped({f"{f} {l}_{n}{mark}vector_add.cu": str(n)
                                           for f, l, n in PEOPLE[:3]}, flag_utf8=True))
    c.file("COURSE-Lesson 21-78.zip", zipped({f"{f} {l}_{4000 - n}{mark}answers.txt": str(n)
                                            for f, l, n in PEOPLE[:2]}, flag_utf8=True))
    for first, last, n in PEOPLE[:3]:
        c.taken(f"{first} {last}", str(n))
        if n < 1003:
            c.taken(f"{first} {last}", str(n), "21")
    c.missing("Anna Schmidt", "", "21")
    c.close()


def canvas():
    book = ("Student,ID,SIS User ID,SIS Login ID,Section,Lesson 1: vector add (4711),"
            "Homework 21 (4712),Final Score\n"
            "    Points Possible,,,,,10.00,100.00,(read only)\n"
            '"Lovelace, Ada",18233,s001,ada,Group 1,,,\n'
            '"Weiß, Jürgen",18234,s002,jw,Group 1,,EX,\n'
            '"Nobody, Nora",18235,s003,nn,Group 2,3.00,,\n'
            '"Student, Test",99999,,test,Group 1,,,\n')
    for name in ("canvas_folder", "canvas_zip"):
        c = Case(name, lesson="01,21", roster=book,
                 submissions="submissions" + (".zip" if name == "canvas_zip" else ""))
        files = {"lovelaceada_18233_2470011_vector_add.cu": "old",
                 "lovelaceada_18233_2470111_vector_add-1.cu": "ada",
                 "weißjürgen_18234_2470010_vector_add.cu": "old",
                 "weißjürgen_18234_2470010_answers.txt": "old",
                 "lovelaceada_18233_2470112_answers-2.txt": "ada",
                 "weißjürgen_LATE_18234_2470113_vector_add.cu": "jw",
                 "weißjürgen_LATE_18234_2470114_notes_1_2.pdf": "x",
                 "nobodynora_18235_text.html": "x"}
        if name == "canvas_zip":
            with open(c.to, "wb") as f:
                f.write(zipped(files, flag_utf8=True))
        else:
            for path, text in files.items():
                c.file(path, text)
        c.taken("Ada Lovelace", "ada", note="vector_add-1.cu counts, and not vector_add.cu")
        c.taken("Ada Lovelace", "ada", "21")
        c.taken("Jürgen Weiß", "jw", late=True, note="handed in more than once; the latest counts: "
                "weißjürgen LATE")
        c.missing("Jürgen Weiß", "handed in: notes_1_2.pdf; wanted: answers.txt; weißjürgen "
                  "has it, and does not count: the latest counts as a whole", "21")
        for lesson, wanted in (("01", CU), ("21", TXT)):
            c.missing("Nora Nobody", f"handed in: nobodynora_18235_text.html; wanted: {wanted}", lesson)
            c.todo(f"Nora Nobody, lesson {lesson}: handed in: nobodynora_18235_text.html; wanted: {wanted}")
        c.close()


def gradescope():
    meta = ("---\nsubmission_7001:\n  :submitters:\n  - :name: Ada Lovelace\n    :sid: '18233'\n"
            "    :email: ada@example.org\n  :created_at: 2026-11-20 22:00:00.861687000 Z\n  :score: 0.0\n"
            "  :results:\n    output: |-\n      ====\n      : x\n"
            "submission_7002:\n  :submitters:\n  - :name: Jürgen Weiß\n    :sid: '18234'\n"
            "    :email: jw@example.org\n  - :name: Zoë Müller\n    :sid:\n    :email: zoe@example.org\n"
            "  :created_at: 2026-11-19 08:00:00.000000000 Z\n")
    files = {"submission_metadata.yml": meta, "submission_7001/vector_add.cu": "ada",
             "submission_7002/work/vector_add.cu": "pair"}
    for name in ("gradescope_folder", "gradescope_zip"):
        c = Case(name, roster="First Name,Last Name,SID,Email,Sections\nAda,Lovelace,18233,ada@example.org,\n"
                 "Jürgen,Weiß,18234,jw@example.org,\nZoë,Müller,18235,zoe@example.org,\n")
        if name == "gradescope_zip":
            c.file("assignment_123_export.zip",
                   zipped({"assignment_123_export/" + k: v for k, v in files.items()}, flag_utf8=True))
        else:
            for path, text in files.items():
                c.file(path, text)
        c.taken("Ada Lovelace", "ada")
        c.taken("Jürgen Weiß", "pair")
        c.taken("Zoë Müller", "pair")
        c.close()


def classroom():
    roster = ('"identifier","github_username","github_id","name"\n"ada@example.org","adal","1","Ada Lovelace"\n'
              '"jw@example.org","j-w","2",""\n"nn@example.org","","",""\n')
    for name, folder in (("classroom", "lesson-01-submissions"), ("classroom_other", "clones")):
        c = Case(name, roster=roster, submissions=folder)
        for user in ("adal", "j-w"):
            c.file(f"lesson-01-{user}/.git/HEAD", "x")
            c.file(f"lesson-01-{user}/exercises/01_vector_add/vector_add.cu", user)
            c.file(f"lesson-01-{user}/grader/test/vector_add.cu", "the grader's")
        c.taken("Ada Lovelace", "adal")
        c.taken("jw@example.org", "j-w")
        c.missing("nn@example.org")
        c.close()


    # What nearly everybody has is the template's: one line says it of all.
    c = Case("classroom_template", submissions="lesson-01-submissions")
    for user in ("ada", "bob", "carl", "dora"):
        c.file(f"lesson-01-{user}/README.md", "x")
        c.file(f"lesson-01-{user}/exercises/02_transpose/transpose.cu", "x")
        c.file(f"lesson-01-{user}/exercises/01_vector_add/vector_add.cu", user)
        c.taken(user, user)
    c.file("lesson-01-ada/mine.txt", "x")
    c.skipped("", "README.md", "the template's, and 7 more: nobody worked on them")
    c.skipped("ada", "lesson-01-ada/mine.txt", "no lesson's file")
    c.close()
    # An assignment's grades as roster have the times; the clones have none.
    grades = ("assignment_name,assignment_url,starter_code_url,github_username,roster_identifier,"
              "student_repository_name,student_repository_url,submission_timestamp,points_awarded,points_available\n")
    for user, who, when in (("adal", "Ada Lovelace", NOON + 7200), ("j-w", "jw@example.org", NOON), ("zoe", "Zoë", None)):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)) if when else ""
        grades += f"Lesson 1,u,u,{user},{who},lesson-01-{user},u,{stamp},0,100\n"
    c = Case("classroom_grades", roster=grades, submissions="lesson-01-submissions")
    c.in_out("late_rules.csv", DUE)
    for user, name in (("adal", "Ada Lovelace"), ("j-w", "jw@example.org"), ("zoe", "Zoë")):
        c.file(f"lesson-01-{user}/.git/HEAD", "x", hours=90)
        c.file(f"lesson-01-{user}/exercises/01_vector_add/vector_add.cu", user, hours=90)
        c.taken(name, user)
    c.lines.append("nothing says when 1 of the files came in: taken as not late")
    c.close()


def untouched():
    # The exercise as it was handed out hides nothing that was worked on, and is called so.
    given = exercise()
    as_it_was = "the exercise as it was handed out"
    place = "exercises/01_vector_add/vector_add.cu"
    c = Case("untouched")
    c.file(f"ada/{place}", given)
    c.file("ada/vector_add.cu", "ada")
    c.taken("ada", "ada")
    c.skipped("ada", f"ada/{place}", as_it_was)
    c.file(f"bob/{place}", given)
    c.file("bob/vector_add (1).cu", "bob")
    c.taken("bob", "bob", note="handed in as vector_add (1).cu")
    c.file(f"carl/{place}", given)
    c.file("carl/saved/01_vector_add/vector_add.cu", "carl")
    c.taken("carl", given, note=as_it_was + "; handed in: saved/01_vector_add/vector_add.cu; wanted: vector_add.cu")
    c.todo("carl, lesson 01: " + as_it_was + "; handed in: saved/01_vector_add/vector_add.cu; wanted: vector_add.cu")
    c.skipped("carl", "carl/saved/01_vector_add/vector_add.cu", "another file counts")
    c.file("dora/vector_add.cu", given.replace("\n", "\r\n"))
    c.taken("dora", given.replace("\n", "\r\n"), note=as_it_was)
    c.file("eve/vector_add.cu", given + "\n")
    c.taken("eve", given + "\n")
    c.close()


def endings():
    # What a packer or Windows adds to the name; the course's folders, and others of such names.
    c = Case("endings", roster="student\nada\nbob\ncarl\ndora\neve\nfay\ngus\n")
    c.file("ada.cu.zip", zipped({"vector_add.cu": "ada"}))
    c.file("bob_vector_add.cu.zip", zipped({"vector_add.cu": "bob"}))
    c.file("carl.cu.txt", "carl")
    c.file("dora/my_solutions/vector_add.cu", "dora")
    c.file("dora/vector_add.cu", exercise())
    c.file("eve/solutions/vector_add.cu", "eve")
    c.file("eve/unsaved/vector_add.cu", exercise())
    c.file("fay/vector_add.cu", exercise())
    c.file("fay/solutions/01_vector_add/vector_add.cu", "the course's")
    for name in ("ada", "bob", "carl", "dora", "eve"):
        c.taken(name, name)
    c.taken("fay", exercise(), note="the exercise as it was handed out")
    c.file("gus.tar.zst", "packed")
    c.line("gus", "not taken", note="gus.tar.zst: a .zst archive cannot be read here; a .zip can")
    c.close()


def accounts():
    # Whose a hand-in is that nobody can know, or has come from a second account: who.csv says it.
    roster = "First name;Last name;ID number;Email address\n" + "".join(
        f"{first};{last};{n};u{n}@example.org\n" for first, last, n in PEOPLE)
    c = Case("accounts", roster=roster)
    for name, n in (("Anna Schmidt", 501), ("Anna Schmidt", 502), ("Ada L.", 503), ("Guest", 504)):
        c.file(f"{name}_{n}_assignsubmission_file_/vector_add.cu", str(n))
    c.in_out("who.csv", "handed_in;student\nAnna Schmidt (501);1004\nAnna Schmidt (502);u1003@example.org\n"
             "Ada L.;\"lovelace, ADA\"\n")
    c.taken("Anna Schmidt (u1003@example.org)", "502")
    c.taken("Anna Schmidt (u1004@example.org)", "501")
    c.taken("Ada Lovelace", "503")
    c.missing("Jürgen Weiß")
    c.taken("Guest", "504")
    c.stranger()
    c.close()
    # Without a roster, too: a second zip, with a name of its own.
    c = Case("accounts_plain")
    c.file("bob.zip", zipped({"vector_add.cu": "old"}))
    c.file("bob-1.zip", zipped({"vector_add.cu": "new"}), hours=3)
    c.in_out("who.csv", "handed_in,student\nbob-1,bob\n")
    c.taken("bob", "new", note="handed in more than once; the latest counts: bob-1.zip")
    c.close()


def twins():
    # Two of one name: nobody guesses, but what tells them apart is enough.
    c = Case("twins", roster="Full name,Email address\nAnna Schmidt,a1@example.org\nAnna Schmidt,a2@example.org\n"
             "Max Weber,mw@example.org\nMax Weber,mw@example.org\n")
    c.file("Anna Schmidt/vector_add.cu", "unclear")
    c.file("a2@example.org/vector_add.cu", "a2")
    c.file("mw.cu", "mw")
    c.missing("Anna Schmidt (a1@example.org)", "")
    c.taken("Anna Schmidt (a2@example.org)", "a2")
    c.taken("Anna Schmidt (which?)", "unclear")
    c.stranger()
    c.taken("Max Weber", "mw")
    c.close()


def mixed():
    # All at once, in one folder
    c = Case("mixed")
    c.file("ada/vector_add.cu", "ada")
    c.file("Bob B_1001_assignsubmission_file_/vector_add.cu", "bob")
    c.file("Cy C_1002_assignsubmission_file_vector_add.cu", "cy")
    c.file("deedora_18233_2470111_vector_add.cu", "dora")
    c.file("lesson-01-submissions/lesson-01-eve/vector_add.cu", "eve")
    c.file("assignment_9_export/submission_1/vector_add.cu", "fay")
    c.file("assignment_9_export/submission_metadata.yml",
           "submission_1:\n  :submitters:\n  - :name: Fay F\n")
    c.file("gus.zip", zipped({"vector_add.cu": "gus"}))
    c.file("hal_01_vector_add.cu", "hal")
    for name, text in (("ada", "ada"), ("Bob B", "bob"), ("Cy C", "cy"), ("deedora", "dora"), ("eve", "eve"),
                       ("Fay F", "fay"), ("gus", "gus"), ("hal", "hal")):
        c.taken(name, text)
    c.close()


def hostile():
    # Nobody but the instructor knows which it is.
    c = Case("hostile_refused")
    c.file("bob.cu", "bob")
    c.file("mallory.zip", zipped({"bob_18233_1_vector_add.cu": "x", "carl_1_assignsubmission_file_/vector_add.cu": "x"}))
    c.refused("mallory.zip/ looks like a download of the class, and files lie beside it", "LAYOUT=plain")
    c.close()
    # With names of one student alone it is hers.
    c = Case("hostile_one")
    c.file("bob.cu", "bob")
    c.file("moody/bob_18233_1_vector_add.cu", "x")
    c.taken("bob", "bob")
    c.line("moody", "missing", note="handed in: bob_18233_1_vector_add.cu; wanted: vector_add.cu")
    c.todo("moody/ looks like a download, but there are other hand-ins beside it")
    c.close()
    c = Case("hostile", LAYOUT="plain")
    # A student's archive that looks like a platform's download of others is the student's.
    c.file("bob.cu", "bob")
    c.file("mallory.zip", zipped({"bob_18233_1_vector_add.cu": "x", "carl_1_assignsubmission_file_/vector_add.cu": "x",
                                "submission_metadata.yml": "submission_1:\n  :submitters:\n  - :name: bob\n",
                                "submission_1/vector_add.cu": "x"}))
    c.taken("bob", "bob")
    c.taken("mallory", "x")
    c.file("assignment_7_export.zip", zipped({"submission_1/vector_add.cu": "x", "submission_metadata.yml":
                                              "submission_1:\n  :submitters:\n  - :name: bob\n"}))
    c.taken("assignment_7_export", "x")
    c.file("moody/bob_18233_1_vector_add.cu", "x")
    c.line("moody", "missing", note="handed in: bob_18233_1_vector_add.cu; wanted: vector_add.cu")
    c.todo("moody, lesson 01: handed in: bob_18233_1_vector_add.cu; wanted: vector_add.cu")
    c.file("out.zip", zipped({"../bob/vector_add.cu": "out", "/etc/x/vector_add.cu": "out"}))
    c.taken("out", "out", note="a path with .. in the archive was not followed")
    c.file("up.zip", zipped({"../vector_add.cu": "up"}))
    c.taken("up", "up", note="its path in the archive has .., taken as vector_add.cu")
    # What would lead out does not take the place of what lies there.
    c.file("climb.zip", zipped({"../bob/vector_add.cu": ("bob's", 5), "vector_add.cu": "climb"}))
    c.taken("climb", "climb", note="a path with .. in the archive was not followed")
    c.skipped("climb", "climb.zip/bob/vector_add.cu", "its path has .., which leads nowhere here")
    c.file("windows.zip", zipped({"work\\vector_add.cu": "windows"}))
    c.taken("windows", "windows")
    many = {f"{i}/vector_add.cu": "x" * 900000 for i in range(60)}
    c.file("many.zip", zipped(many))
    c.taken("many", "x" * 900000, note="from an archive that cannot be read to its end")
    c.close()


plain(), latest(), moodle(), canvas(), gradescope(), classroom(), untouched(), endings(), accounts(), twins()
teams(), same_names(), downloads(), rosters(), mixed(), hostile(), meant(), two_files(), numbers()
