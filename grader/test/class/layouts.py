"""layouts.py: makes hand-ins in the layouts in which they come back, and says what has to count.

usage: layouts.py DIR     writes DIR/CASE/submissions (or submissions.zip), DIR/CASE/options for
make class, and DIR/CASE/expected: what DRY=yes has to print, sorted; where a student's file is
taken, DIR/CASE/taken/ID/LESSON has what it must be. DIR/CASE/ends is the status with which the
program has to end, and DIR/CASE/todo has what it must say then.

The layouts are those of Moodle's mod/assign/classes/downloader.php, Canvas's lib/content_zipper.rb
and lib/gradebook_exporter.rb, GitHub's gh-classroom (clone student-repos) and Gradescope's export.
"""

import hashlib
import io
import os
import sys
import time
import zipfile

root = sys.argv[1]
NOON = time.mktime((2026, 11, 20, 12, 0, 0, 0, 0, -1))
DUE = "lesson,grace_days,percent_per_day,least_percent,due\n*,0,10,0,2026-11-20 13:00\n"
CU, TXT = "vector_add.cu", "answers.txt"


class Case:
    """One SUBMISSIONS folder and what make class has to find in it."""

    def __init__(self, name, lesson="01", roster=None, submissions="submissions", **options):
        self.dir = os.path.join(root, name)
        self.to = os.path.join(self.dir, submissions)
        self.lines, self.left_out, self.to_do, self.ends = [], [], [], 0
        os.makedirs(self.dir)
        self.options = {"LESSON": lesson, "SUBMISSIONS": self.to, **options}
        if roster is not None:
            self.options["ROSTER"] = os.path.join(self.dir, "roster.csv")
            with open(self.options["ROSTER"], "wb") as f:
                f.write(roster if isinstance(roster, bytes) else roster.encode())

    def file(self, path, text="", hours=0):
        """A file, or bytes, so many hours after noon of 20 November."""
        whole = os.path.join(os.fsencode(self.to), path if isinstance(path, bytes) else path.encode())
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.utime(whole, (NOON + hours * 3600,) * 2)

    def taken(self, name, text, lesson="01", note="", id=None, late=False):
        ending = "txt" if lesson == "21" else "cu"
        full = {"01": "01_vector_add", "21": "21_flop_counting"}[lesson]
        path = os.path.join(self.dir, "taken", id or name)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, f"{full}.{ending}"), "w") as f:
            f.write(text)
        self.line(name, "taken" + (", late" if late else ""), lesson, note)

    def line(self, name, state, lesson="01", note=""):
        self.lines.append(f"{name}: {lesson} {state}{': ' if note else ''}{note}")

    def in_out(self, file, text):
        """One of the instructor's tables, there before the run."""
        os.makedirs(os.path.join(self.dir, "out"), 0o700, exist_ok=True)
        with open(os.path.join(self.dir, "out", file), "w") as f:
            f.write(text)

    def skipped(self, name, path, why):
        """What skipped.csv has to say."""
        self.left_out.append(f'"{name}","{path}","{why}"\n')

    def todo(self, *texts):
        """What has to be looked at: all else is done."""
        self.to_do += texts
        self.ends = 4

    def refused(self, *texts):
        """The run ends before it has made anything."""
        self.to_do += texts
        self.ends = 2

    def stranger(self):
        """The last line is of somebody who is not on the roster."""
        self.lines[-1] += " (not on the roster)"
        self.todo("not on the roster, so that no export has their points")

    def missing(self, name, note="", lesson="01"):
        self.line(name, "missing", lesson, note)

    def close(self):
        os.makedirs(self.to, exist_ok=True) if not self.to.endswith(".zip") else None
        with open(os.path.join(self.dir, "expected"), "w") as f:
            f.write("".join(sorted(line + "\n" for line in self.lines)))
        with open(os.path.join(self.dir, "skipped"), "w") as f:
            f.write("".join(self.left_out))
        with open(os.path.join(self.dir, "todo"), "w") as f:
            f.write("".join(text + "\n" for text in self.to_do))
        with open(os.path.join(self.dir, "ends"), "w") as f:
            f.write(f"{self.ends}")
        with open(os.path.join(self.dir, "options"), "w") as f:
            f.write("".join(f"{k}={v}\n" for k, v in self.options.items()))


class Named(zipfile.ZipInfo):
    """An entry whose name has these bytes, and is said to be UTF-8 or not."""

    def _encodeFilenameFlags(self):
        return self.raw, self.flag


def zipped(files, flag_utf8=False, charset="cp437", hours=0):
    """The bytes of a zip. Names are in this charset, and flagged as UTF-8 if flag_utf8."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            info = Named(name, time.localtime(NOON + hours * 3600)[:6])
            info.external_attr = 0o100644 << 16
            info.raw = name.encode("utf-8" if flag_utf8 else charset)
            info.flag = 0x800 if flag_utf8 else 0
            z.writestr(info, data)
    return out.getvalue()


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
    # The right name counts, and what may be a correction of it is named.
    c.file("both/vector_add (1).cu", "one", hours=2)
    c.file("both/vector_add.cu", "right")
    c.taken("both", "right", note="vector_add.cu of 2026-11-20 12:00 counts, and not vector_add (1).cu of "
            "2026-11-20 14:00")
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


def exercise():
    with open("exercises/01_vector_add/vector_add.cu", encoding="utf-8") as f:
        return f.read()


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
    c.close()


PEOPLE = [("Ada", "Lovelace", 1001), ("Jürgen", "Weiß", 1002), ("Anna", "Schmidt", 1003),
          ("Anna", "Schmidt", 1004)]


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
    c.taken("carl", given, note=as_it_was)
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


def teams():
    # A team's hand-in is of all whom who.csv names, a line each; who is in no group shares one
    # without a number.
    roster = "First name,Last name,ID number,Email address\n" + "".join(
        f"{first},{last},{n},u{n}@example.org\n" for first, last, n in PEOPLE[:3])
    mark = "_assignsubmission_file_/vector_add.cu"
    teams = zipped({"Gruppe 7_512" + mark: "seven", "Default group" + mark: "default"}, hours=1)
    c = Case("teams", roster=roster)
    c.file("COURSE-1.zip", teams)
    c.in_out("who.csv", "handed_in,student\nGruppe 7,Ada Lovelace\nGruppe 7,Weiß Jürgen\nGruppe 7,1001\n"
             "Default group,Anna Schmidt\n")
    c.taken("Ada Lovelace", "seven")
    c.taken("Jürgen Weiß", "seven")
    c.taken("Anna Schmidt", "default")
    c.close()
    # Before anybody has written it, each is a row of its own, and the run says what is to be done.
    for name, flat in (("teams_unclear", False), ("teams_flat", True)):
        c = Case(name, roster=roster)
        for team in ("Gruppe 7_512", "Default group"):
            c.file(f"{team}_assignsubmission_file_{'' if flat else '/'}vector_add.cu", team)
        for first, last, _ in PEOPLE[:3]:
            c.missing(f"{first} {last}")
        c.taken("Gruppe 7", "Gruppe 7_512")
        c.stranger()
        c.taken("Default group", "Default group")
        c.stranger()
        c.todo("not one hand-in is of somebody on it. Is it the roster of this course?",
               "Default group, Gruppe 7.", "for a group a line a student")
        c.close()
    # When a team has handed in says the worksheet, for each of them.
    c = Case("teams_times", roster='Identifier,"Full name","Email address",Status,Grade,"Maximum Grade",'
             '"Grade can be changed","Last modified (submission)","Last modified (grade)"\n'
             '"Participant 1001","Ada Lovelace",u1@example.org,"Submitted for grading",,50.00,Yes,'
             '"Friday, 20 November 2026, 1:12 PM",-\n'
             '"Participant 1002","Jürgen Weiß",u2@example.org,"Submitted for grading",,50.00,Yes,'
             '"Friday, 20 November 2026, 12:12 PM",-\n')
    c.in_out("late_rules.csv", DUE)
    c.in_out("who.csv", "handed_in,student\nGruppe 7,1001\nGruppe 7,Participant 1002\n")
    c.file("Gruppe 7_512" + mark, "seven", hours=90)
    c.taken("Ada Lovelace", "seven")
    c.taken("Jürgen Weiß", "seven")
    c.close()
    # A Gradescope group, one of whom is somebody's second account; the account is a pair's.
    c = Case("teams_gradescope", roster="student\nada\nbob\ncarl\n")
    c.in_out("who.csv", "handed_in,student\nThe Pair,bob\nThe Pair,carl\n")
    c.file("submission_metadata.yml", "submission_1:\n  :submitters:\n  - :name: ada\n  - :name: The Pair\n")
    c.file("submission_1/vector_add.cu", "all")
    for name in ("ada", "bob", "carl"):
        c.taken(name, "all")
    c.close()
    # A line that is about nothing, and one that may be about two.
    c = Case("who_idle", roster="student\nada\n")
    c.in_out("who.csv", "handed_in,student\nada l.,ada\n")
    c.file("ada.cu", "ada")
    c.taken("ada", "ada")
    c.todo("out/who.csv, record 2: nothing was handed in as ada l.")
    c.close()
    c = Case("who_two", roster=roster)
    c.in_out("who.csv", "handed_in,student\nAnna,1003\n")
    for n in (501, 502):
        c.file(f"Anna_{n}{mark}", str(n))
    c.refused('two have handed in as Anna. Write "Anna (501)" or "Anna (502)".')
    c.close()
    c = Case("who_one", roster=roster)
    c.in_out("who.csv", "handed_in,student\nAnna (501),1003\nAnna (502),1002\n")
    for n in (501, 502):
        c.file(f"Anna_{n}{mark}", str(n))
    c.taken("Anna Schmidt", "501")
    c.taken("Jürgen Weiß", "502")
    c.missing("Ada Lovelace")
    c.close()


def same_names():
    # Two of one name are two, if their numbers are, with a roster or without.
    meta = "".join(f"submission_{n}:\n  :submitters:\n  - :name: Anna Schmidt\n    :sid: '{sid}'\n"
                   f"    :email: a{sid}@example.org\n" for n, sid in ((1, "00109"), (2, "00108")))
    for name, roster in (("names_gradescope", None), ("names_stranger", "Name,SID,Email\nAnna Schmidt,00108,x@example.org\n")):
        c = Case(name, roster=roster)
        c.file("assignment_9_export/submission_metadata.yml", meta)
        c.file("assignment_9_export/submission_1/vector_add.cu", "109")
        c.file("assignment_9_export/submission_2/vector_add.cu", "108")
        if roster:
            c.taken("Anna Schmidt", "108")
            c.taken("Anna Schmidt (00109)", "109")
            c.stranger()
        else:
            c.taken("Anna Schmidt (00108)", "108")
            c.taken("Anna Schmidt (00109)", "109")
        c.close()
    c = Case("names_moodle")
    for n in (1003, 1004):
        c.file(f"Anna Schmidt_{n}_assignsubmission_file_/vector_add.cu", str(n))
        c.taken(f"Anna Schmidt ({n})", str(n))
    c.close()
    # Canvas's gradebook has all: another number is another one. And a suffix is no first name.
    book = ("Student,ID,SIS User ID,SIS Login ID,Section,Lesson 1 (4711)\n    Points Possible,,,,,10.00\n"
            '"Schmidt, Anna",18240,s1,as,G,\n"Smith, Jr., John",18239,s2,js,G,\n"Roe, Jane, III",18241,s3,jr,G,\n')
    c = Case("names_canvas", roster=book)
    c.file("submissions.zip", zipped({"schmidtanna_18299_1_vector_add.cu": "guest",
                                      "smithjrjohn_18239_2_vector_add.cu": "john",
                                      "gruppe7_18241_3_vector_add.cu": "group"}))
    c.missing("Anna Schmidt")
    c.taken("schmidtanna", "guest")
    c.stranger()
    c.taken("John Smith, Jr.", "john")
    c.taken("Jane Roe, III", "group")
    c.todo('"gruppe7" has the number of Jane Roe, III, and another name: a group?')
    c.close()


def downloads():
    # What came by mail lies beside the download, in a folder of its own, and counts.
    roster = "First name,Last name,ID number,Email address\n" + "".join(
        f"{first},{last},{n},u{n}@example.org\n" for first, last, n in PEOPLE[:2])
    mark = "_assignsubmission_file_/vector_add.cu"
    files = {"Ada Lovelace_11" + mark: "old", "Jürgen Weiß_12" + mark: "jw"}
    for name in ("mail_zip", "mail_folder", "mail_canvas"):
        c = Case(name, roster=roster)
        if name == "mail_zip":
            c.file("COURSE-1.zip", zipped(files, flag_utf8=True, hours=9), hours=9)
        elif name == "mail_folder":
            for path, text in files.items():
                c.file(path, text, hours=9)
        else:
            c.file("lovelaceada_11_2470111_vector_add.cu", "old")
            c.file("weißjürgen_12_2470112_vector_add.cu", "jw")
        c.file("mail/Ada Lovelace/vector_add.cu", "new")
        c.taken("Ada Lovelace", "new", note="handed in more than once; what came by mail counts: Ada Lovelace in mail "
                "of 2026-11-20 12:00")
        c.taken("Jürgen Weiß", "jw")
        c.close()
    # Elsewhere nobody knows whose it is; a table beside a download is nobody's hand-in.
    c = Case("mail_beside", roster=roster)
    c.file("COURSE-1.zip", zipped(files, flag_utf8=True))
    c.file("Ada Lovelace/vector_add.cu", "new")
    c.refused("COURSE-1.zip/ looks like a download of the class, and Ada Lovelace/ lies beside it",
              "may lie beside it in a folder `mail`")
    c.close()
    c = Case("table_beside", roster=roster)
    c.file("COURSE-1.zip", zipped(files, flag_utf8=True))
    c.file("participants.csv", "x")
    c.taken("Ada Lovelace", "old")
    c.taken("Jürgen Weiß", "jw")
    c.close()
    # Of two downloads with one name in both the note says which.
    c = Case("two_zips", roster=roster)
    c.file("COURSE-1.zip", zipped(files, flag_utf8=True, hours=1))
    c.file("COURSE-1 (1).zip", zipped({"Ada Lovelace_11" + mark: "new"}, flag_utf8=True, hours=5))
    c.taken("Ada Lovelace", "new", note="handed in more than once; the latest counts: Ada Lovelace in "
            "COURSE-1 (1).zip of 2026-11-20 17:00")
    c.taken("Jürgen Weiß", "jw")
    c.close()
    # Two assignments of Canvas: a note is about the files of its own; the higher number came later.
    book = ("Student,ID,SIS User ID,SIS Login ID,Section\n"
            '"Lovelace, Ada",11,s1,ada,G\n"Weiß, Jürgen",12,s2,jw,G\n"Nobody, Nora",13,s3,nn,G\n"Berg, Zoë",14,s4,zb,G\n')
    c = Case("two_assignments", lesson="01,21", roster=book)
    c.file("hw01.zip", zipped({"lovelaceada_11_5_vector_add.cu": "ada", "weißjürgen_12_6_vector_add.cu": "jw",
                               "nobodynora_13_text.html": "x", "bergzoë_14_7_vector_add.cu": "old",
                               "bergzoë_14_8_main.cu": "x"}, flag_utf8=True))
    c.file("hw21.zip", zipped({"lovelaceada_11_15_answers final.txt": "x", "nobodynora_13_16_answers.txt": "nora",
                               "bergzoë_14_17_vector_add.cu": "zoe", "weißjürgen_12_18_answers.txt": "jw"}, flag_utf8=True))
    c.taken("Ada Lovelace", "ada")
    c.missing("Ada Lovelace", "handed in: answers final.txt; wanted: answers.txt", "21")
    c.taken("Jürgen Weiß", "jw")
    c.taken("Jürgen Weiß", "jw", "21")
    c.missing("Nora Nobody", "handed in: nobodynora_13_text.html; wanted: vector_add.cu")
    c.taken("Nora Nobody", "nora", "21")
    c.taken("Zoë Berg", "zoe", note="handed in more than once; the latest counts: bergzoë in hw21.zip")
    c.missing("Zoë Berg", "", "21")
    c.close()
    # A 7z in a download
    c = Case("moodle_seven", roster=roster)
    c.file("COURSE-1.zip", zipped({"Ada Lovelace_11_assignsubmission_file_/hw1.7z": "7z", **{k: v for k, v in files.items()
                                   if k[0] == "J"}}, flag_utf8=True))
    c.line("Ada Lovelace", "not taken", note="hw1.7z: a .7z archive cannot be read here; a .zip can")
    c.taken("Jürgen Weiß", "jw")
    c.close()
    # Canvas without names, with a text among the files
    c = Case("canvas_anonymous")
    c.file("submissions.zip", zipped({"anon_aB3x9_1_vector_add.cu": "one", "LATE_anon_Zz12q_2_vector_add.cu": "two",
                                      "anon_Qq77w_text.html": "x"}))
    c.taken("anon_aB3x9", "one")
    c.taken("anon_Zz12q", "two", late=True)
    c.missing("anon_Qq77w", "handed in: anon_Qq77w_text.html; wanted: vector_add.cu")
    c.close()


def rosters():
    # What a roster does not tell is said before anything is graded.
    hand_in = "Ada Lovelace_11_assignsubmission_file_/vector_add.cu"
    c = Case("roster_german", roster='ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung\n'
             '"Teilnehmer/in11","Ada Lovelace",ada@example.org,Abgegeben,\n')
    c.file(hand_in, "ada")
    c.refused("no column is known to hold names", "in English")
    c.close()
    c = Case("roster_other", roster="student\nGrace Hopper\n")
    c.file(hand_in, "ada")
    c.missing("Grace Hopper")
    c.taken("Ada Lovelace", "ada")
    c.stranger()
    c.todo("not one hand-in is of somebody on it. Is it the roster of this course?")
    c.close()
    c = Case("roster_numbers", roster="id,email,section\n007,a@example.org,1\n")
    c.file("007/vector_add.cu", "bond")
    c.taken("007", "bond")
    c.close()
    c = Case("roster_empty", roster="student,email\n")
    c.file("ada.cu", "ada")
    c.refused("there is no student in it")
    c.close()
    # Lines of the instructor's tables that have no effect
    c = Case("tables", roster="Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
             'Participant 11,"John Smith, Jr.",js@example.org,,,50.00\n')
    c.file("John Smith, Jr._11_assignsubmission_file_/vector_add.cu", "john")
    c.taken("John Smith, Jr.", "john")
    c.in_out("overrides.csv", 'student,lesson,points,reason\n11,01,50,by number\n"Smith, Jr., John",01,60,in another order\n'
             "caarl,01,70,nobody\n11,07,80,no such lesson\n")
    c.in_out("late.csv", "student,lesson,days,from\n11,7,1,x\n")
    c.in_out("weights.csv", "lesson,weight\n07,2\n99,1\n")
    c.in_out("late_rules.csv", "lesson,grace_days,percent_per_day,least_percent,due\nvektor,0,10,0,\n")
    c.todo("out/overrides.csv, record 4 has no effect: there is no student caarl in this run",
           'out/overrides.csv, record 5 has no effect: there is no lesson "07" in this run',
           'out/late.csv, record 2 has no effect: there is no lesson "7" in this run',
           'out/weights.csv, record 3 has no effect: there is no lesson "99" in this course',
           'out/late_rules.csv, record 2 has no effect: there is no lesson "vektor" in this course')
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
    c.file("out.zip", zipped({"../bob/vector_add.cu": "out", "/etc/x/vector_add.cu": "out"}))
    c.taken("out", "out")
    c.file("windows.zip", zipped({"work\\vector_add.cu": "windows"}))
    c.taken("windows", "windows")
    many = {f"{i}/vector_add.cu": "x" * 900000 for i in range(60)}
    c.file("many.zip", zipped(many))
    c.taken("many", "x" * 900000, note="from an archive that cannot be read to its end")
    c.close()


plain(), latest(), moodle(), canvas(), gradescope(), classroom(), untouched(), endings(), accounts(), twins()
teams(), same_names(), downloads(), rosters(), mixed(), hostile()
