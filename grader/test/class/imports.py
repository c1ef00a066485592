"""imports.py: reads exports/canvas.csv or moodle.csv as the platform's importer does, by its source,
and prints what it would enter: a line "STUDENT ASSIGNMENT POINTS" each, sorted. What it would not
take is an error.

usage: imports.py canvas FILE           ids of the course's students and assignments: see below
       imports.py moodle FILE           Grades, Import, CSV file; users by Email address
       imports.py worksheet FILE        Upload grading worksheet of an assignment

canvas: lib/gradebook_importer.rb and Assignment.title_and_id of canvas-lms. worksheet:
mod/assign/feedback/offline/importgradeslib.php of Moodle. moodle: grade/import/csv there.
"""

import csv
import re
import sys

kind, path = sys.argv[1:3]
with open(path, encoding="utf-8", newline="") as f:
    rows = list(csv.reader(f, strict=True))
header, rows = rows[0], rows[1:]
out = []


def refuse(why):
    sys.exit(f"{path}: {why}")


if any(len(row) != len(header) for row in rows):
    refuse("records of different lengths")
if kind == "canvas":
    # row_has_student_headers?, update_column_count, header?
    if len(header) < 4 or "Student" not in header[0] or "ID" not in header[1]:
        refuse("Invalid header row")
    columns = 3
    if re.search(r"SIS\s+Login\s+ID", header[2]):
        columns += 1
    elif re.search(r"SIS\s+User\s+ID", header[2]) and re.search(r"SIS\s+Login\s+ID", header[3]):
        columns += 2
    if "Section" not in header[columns - 1]:
        refuse("Invalid header row: no Section where it must be")
    points = None
    for row in rows:
        if "Points Possible" in row[0]:
            points = row
            continue
        for column in range(columns, len(header)):
            title = re.match(r"^(.*)\s\((\d+)\)$", header[column])
            out.append((row[1] or f"by name: {row[0]}", title[2] if title else f"new: {header[column]}",
                        row[column]))
    if not points:
        refuse("no Points Possible")
    for column in range(columns, len(header)):
        float(points[column])
elif kind == "moodle":
    if header[:4] != ["First name", "Last name", "ID number", "Email address"]:
        refuse(f"columns {header}")
    for row in rows:
        if "@" not in row[3]:
            refuse(f"no address that identifies {row}")
        out += [(row[3], title, value) for title, value in zip(header[4:], row[4:])]
else:
    for title in ("Identifier", "Grade", "Last modified (grade)"):
        if title not in header:
            refuse(f"no column {title}")
    for row in rows:
        number = row[header.index("Identifier")][len("Participant"):]
        value = row[header.index("Grade")]
        if float(value or 0) > float(row[header.index("Maximum Grade")]):
            refuse(f"{value} is more than the assignment gives")
        out.append((number.strip(), "grade", value))
for line in sorted(out):
    print(*line)
