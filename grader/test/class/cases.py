"""cases.py: what the cases of layouts.py are made of: a folder of hand-ins and what is to be said of them."""

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
        with open(os.path.join(path, f"{full}.{ending}"), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        self.line(name, "taken" + (", late" if late else ""), lesson, note)

    def line(self, name, state, lesson="01", note=""):
        self.lines.append(f"{name}: {lesson} {state}{': ' if note else ''}{note}")
        if state == "not taken":  # whoever gave it may have meant it, and nothing else counts
            self.todo(f"{name}, lesson {lesson}: {note}")

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
    """The bytes of a zip of {name: data, or (data, hours)}. Names are in this charset, and flagged as UTF-8 if flag_utf8."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            data, after = data if isinstance(data, tuple) else (data, hours)
            info = Named(name, time.localtime(NOON + after * 3600)[:6])
            info.external_attr = 0o100644 << 16
            info.raw = name.encode("utf-8" if flag_utf8 else charset)
            info.flag = 0x800 if flag_utf8 else 0
            z.writestr(info, data)
    return out.getvalue()


def exercise(path="01_vector_add/vector_add.cu"):
    with open(f"exercises/{path}", encoding="utf-8") as f:
        return f.read()


PEOPLE = [("Ada", "Lovelace", 1001), ("Jürgen", "Weiß", 1002), ("Anna", "Schmidt", 1003),
          ("Anna", "Schmidt", 1004)]
