"""owners.py: cases of layouts.py about whose a hand-in is: teams, names that two have, mail, rosters."""

from cases import DUE, PEOPLE, Case, exercise, zipped


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


def numbers():
    # A roster of one's own whose students are numbers, and have names beside them.
    c = Case("roster_names", roster="\ufeffstudent;name;email\r\n0018233;Lovelace, Ada;ada@example.org\r\n"
             "0012345;Müller, Jürgen;jm@example.org\r\n0007001;Schmidt, Anna;a1@example.org\r\n"
             "0007002;Schmidt, Anna;a2@example.org\r\n0012353;de la Cruz, Jr., José;jc@example.org\r\n0012351;Hopper, Grace;gh@example.org\r\n")
    c.file("Ada Lovelace/vector_add.cu", "ada")
    c.taken("Lovelace, Ada", "ada")
    c.file("Müller Jürgen.zip", zipped({"vector_add.cu": "jm"}, flag_utf8=True))
    c.taken("Müller, Jürgen", "jm")
    c.file("Cruz, Jr., José de la/vector_add.cu", "jc")
    c.taken("de la Cruz, Jr., José", "jc")
    # Number and name together leave no doubt, in whatever order.
    c.file("0007001_Anna Schmidt/vector_add.cu", "a1")
    c.file("Schmidt, Anna (0007002)/vector_add.cu", "a2")
    c.taken("Schmidt, Anna (a1@example.org)", "a1")
    c.taken("Schmidt, Anna (a2@example.org)", "a2")
    # Where they are those of two, nobody guesses.
    c.file("0012351 Ada Lovelace/vector_add.cu", "whose?")
    c.missing("Hopper, Grace")
    c.taken("0012351 Ada Lovelace", "whose?")
    c.stranger()
    c.close()
    c = Case("number_and_name", roster="First name,Last name,ID number,Email address\n" + "".join(
        f"{first},{last},000{n},u{n}@example.org\n" for first, last, n in PEOPLE))
    for file, name, text in (("Lovelace_Ada_0001001.zip", "Ada Lovelace", "ada"), ("0001002-juergen weiss.zip", "", ""),
                             ("u1002@example.org Jürgen Weiß.zip", "Jürgen Weiß", "jw"),
                             ("0001003_Anna Schmidt_vector_add.cu", "Anna Schmidt (u1003@example.org)", "a3"),
                             ("Anna Schmidt - 0001004.zip", "Anna Schmidt (u1004@example.org)", "a4")):
        if name:
            c.file(file, text if file.endswith(".cu") else zipped({"vector_add.cu": text}))
            c.taken(name, text)
    # Half of a number is none.
    c.file("1001 Ada Lovelace.zip", zipped({"vector_add.cu": "x"}))
    c.taken("1001 Ada Lovelace", "x")
    c.stranger()
    c.file("Anna Schmidt.zip", zipped({"vector_add.cu": "?"}))
    c.taken("Anna Schmidt (which?)", "?")
    c.stranger()
    c.todo('"Anna Schmidt" may be two students, and gets a row of its own, "Anna Schmidt (which?)"')
    c.close()
    # A Classroom's identifiers are numbers: who.csv may name them, and they tell two apart.
    c = Case("classroom_numbers", submissions="hw-submissions", roster='"identifier","github_username","github_id","name"\n'
             '"0007001","annas","1","Anna Schmidt"\n"0007002","schmidt-a","2","Anna Schmidt"\n"0007004","","",""\n')
    c.in_out("who.csv", "handed_in,student\nsecond,0007004\n")
    for user, name in (("annas", "Anna Schmidt (annas)"), ("schmidt-a", "Anna Schmidt (schmidt-a)"), ("second", "0007004")):
        c.file(f"hw-{user}/vector_add.cu", user)
        c.taken(name, user)
    c.close()
    # Two whom Canvas would take for one
    c = Case("classroom_twins", submissions="hw-submissions", roster='"identifier","github_username","github_id","name"\n'
             '"Anna Schmidt","annas","1","Anna Schmidt"\n"Anna Schmidt","schmidt-a","2","Anna Schmidt"\n')
    for user in ("annas", "schmidt-a"):
        c.file(f"hw-{user}/vector_add.cu", user)
        c.taken(f"Anna Schmidt ({user})", user)
    c.todo('Canvas cannot tell "Anna Schmidt (annas)" and "Anna Schmidt (schmidt-a)" apart: both rows of exports/canvas.csv')
    c.close()
    c = Case("one_address", roster="First name,Last name,ID number,Email address\nAda,Lovelace,1,office@example.org\n"
             "Grace,Hopper,2,office@example.org\n")
    for name in ("Ada Lovelace", "Grace Hopper"):
        c.file(f"{name}/vector_add.cu", name)
        c.taken(name, name)
    c.todo('Moodle cannot tell "Ada Lovelace" and "Grace Hopper" apart: both rows of exports/moodle.csv')
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
    # It takes the place of its own file, and of no other lesson's.
    c = Case("mail_partial", lesson="01,21", roster=roster)
    c.file("COURSE-1.zip", zipped({**files, "Ada Lovelace_11_assignsubmission_file_/answers.txt": "answers"},
                                  flag_utf8=True, hours=9), hours=9)
    c.file("mail/Ada Lovelace.zip", zipped({"vector_add.cu": "new"}))
    c.taken("Ada Lovelace", "new", note="handed in more than once; what came by mail counts: Ada Lovelace.zip in mail "
            "of 2026-11-20 12:00")
    c.taken("Ada Lovelace", "answers", "21")
    c.taken("Jürgen Weiß", "jw")
    c.missing("Jürgen Weiß", "", "21")
    c.close()
    # Where there was none before, too
    c = Case("mail_alone", roster=roster)
    c.file("COURSE-1.zip", zipped({"Ada Lovelace_11_assignsubmission_onlinetext_/onlinetext.html": "x", **{k: v for k, v in files.items()
                                   if k[0] == "J"}}, flag_utf8=True, hours=9), hours=9)
    c.file("mail/Ada Lovelace/vector_add.cu", "new")
    c.taken("Ada Lovelace", "new", note="came by mail")
    c.taken("Jürgen Weiß", "jw")
    c.close()
    # It has the time when it was saved: nobody is late by that, and the run says so.
    for name, options in (("mail_due", {}), ("mail_due_one", {"STUDENT": "Ada Lovelace"})):
        c = Case(name, roster=roster, **options)
        c.in_out("late_rules.csv", DUE)
        c.file("COURSE-1.zip", zipped(files, flag_utf8=True))
        c.file("mail/Ada Lovelace/vector_add.cu", "new", hours=90)
        c.taken("Ada Lovelace", "new", note="handed in more than once; what came by mail counts: Ada Lovelace in mail "
                "of 2026-11-24 06:00")
        c.taken("Jürgen Weiß", "jw")
        c.todo("Ada Lovelace, lesson 01: came by mail, and nothing says when: taken as not late")
        c.close()
    # The instructor's own line is the answer.
    c = Case("mail_due_said", roster=roster)
    c.in_out("late_rules.csv", DUE)
    c.in_out("late.csv", "student,lesson,days,from\nAda Lovelace,01,0,told me\n")
    c.file("COURSE-1.zip", zipped(files, flag_utf8=True))
    c.file("mail/Ada Lovelace/vector_add.cu", "new", hours=90)
    c.taken("Ada Lovelace", "new", note="handed in more than once; what came by mail counts: Ada Lovelace in mail "
            "of 2026-11-24 06:00")
    c.taken("Jürgen Weiß", "jw")
    c.close()
    worksheets(mark)
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
    c.todo("Ada Lovelace, lesson 21: handed in: answers final.txt; wanted: answers.txt")
    c.taken("Jürgen Weiß", "jw")
    c.taken("Jürgen Weiß", "jw", "21")
    c.missing("Nora Nobody", "handed in: nobodynora_13_text.html; wanted: vector_add.cu")
    c.taken("Nora Nobody", "nora", "21")
    # What lies in the wrong assignment does not take the place of what lies in the right one.
    c.taken("Zoë Berg", "old", note="handed in more than once; what was handed in for this lesson counts: bergzoë in "
            "hw01.zip")
    c.missing("Zoë Berg", "handed in: vector_add.cu (of lesson 01); wanted: answers.txt", "21")
    c.close()
    # Alone it counts.
    c = Case("wrong_assignment", lesson="01,21", roster=book)
    c.file("hw01.zip", zipped({"lovelaceada_11_5_vector_add.cu": "ada"}))
    c.file("hw21.zip", zipped({"lovelaceada_11_15_answers.txt": "ada", "nobodynora_13_16_vector_add.cu": "nora",
                               **{f"x{n}_9{n}_2{n}_answers.txt": "x" for n in range(4)}}))
    for name, answers in (("Ada Lovelace", "ada"), ("Jürgen Weiß", ""), ("Nora Nobody", ""), ("Zoë Berg", "")):
        c.missing(name) if name[0] in "JZ" else c.taken(name, name.split()[0].lower())
        lost = "handed in: vector_add.cu (of lesson 01); wanted: answers.txt" if name[0] == "N" else ""
        c.taken(name, answers, "21") if answers else c.missing(name, lost, "21")
    for n in range(4):
        c.missing(f"x{n}")
        c.stranger()
        c.taken(f"x{n}", "x", "21")
        c.stranger()
    c.close()
    # Two downloads of one assignment: the higher number of Canvas came later.
    c = Case("two_canvas", roster=book)
    c.file("hw01.zip", zipped({"lovelaceada_11_5_vector_add.cu": "old", "weißjürgen_12_6_vector_add.cu": "jw"}, flag_utf8=True))
    c.file("hw01 (1).zip", zipped({"lovelaceada_11_9_vector_add-1.cu": "new"}))
    c.taken("Ada Lovelace", "new", note="handed in more than once; the latest counts: lovelaceada in hw01 (1).zip")
    c.taken("Jürgen Weiß", "jw")
    c.missing("Nora Nobody")
    c.missing("Zoë Berg")
    c.close()
    assignments(roster, book)
    # Of two files in a download their own times are said, not that of the zip; of two folders the
    # newer one counts.
    c = Case("moodle_copies", roster=roster)
    mine = "Ada Lovelace_11_assignsubmission_file_/"
    c.file("COURSE-1.zip", zipped({mine + "vector_add.cu": ("old", 0), mine + "vector_add (1).cu": ("new", 30),
                                   "Jürgen Weiß_12_assignsubmission_file_/a/vector_add.cu": ("old", 1),
                                   "Jürgen Weiß_12_assignsubmission_file_/b/vector_add.cu": ("jw", 20)}, flag_utf8=True))
    c.taken("Ada Lovelace", "new", note="vector_add (1).cu of 2026-11-21 18:00 counts, and not vector_add.cu of "
            "2026-11-20 12:00")
    c.taken("Jürgen Weiß", "jw", note="b/vector_add.cu of 2026-11-21 08:00 counts, and not a/vector_add.cu of "
            "2026-11-20 13:00")
    c.close()
    # A 7z in a download
    c = Case("moodle_seven", roster=roster)
    c.file("COURSE-1.zip", zipped({"Ada Lovelace_11_assignsubmission_file_/hw1.7z": "7z", **{k: v for k, v in files.items()
                                   if k[0] == "J"}}, flag_utf8=True))
    c.line("Ada Lovelace", "not taken", note="hw1.7z: a .7z archive cannot be read here; a .zip can")
    c.taken("Jürgen Weiß", "jw")
    c.close()
    # Names that no platform gives are not taken for a whole class without a word.
    c = Case("unknown_names")
    c.file("submissions.zip", zipped({"anon_LATE_Zz12q_2_vector_add.cu": "x", "anon_aB3x9_1_vector_add.cu": "x"}))
    c.missing("submissions", "handed in: anon_LATE_Zz12q_2_vector_add.cu, anon_aB3x9_1_vector_add.cu; "
              "wanted: vector_add.cu")
    c.todo("all that was handed in is taken for one student's, submissions")
    c.close()
    # Canvas without names, with a text among the files
    c = Case("canvas_anonymous")
    c.file("submissions.zip", zipped({"anon_aB3x9_1_vector_add.cu": "one", "LATE_anon_Zz12q_2_vector_add.cu": "two",
                                      "anon_Qq77w_text.html": "x"}))
    c.taken("anon_aB3x9", "one")
    c.taken("anon_Zz12q", "two", late=True)
    c.missing("anon_Qq77w", "handed in: anon_Qq77w_text.html; wanted: vector_add.cu")
    c.todo("anon_Qq77w, lesson 01: handed in: anon_Qq77w_text.html; wanted: vector_add.cu")
    c.close()


def worksheets(mark):
    # What the grading worksheet does not time has no time: a stranger's, or by who.csv somebody's.
    titles = ('Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
              '"Last modified (submission)","Last modified (grade)"\n')
    line = 'Participant {},{},u{}@example.org,Submitted,,50.00,Yes,"{}",-\n'

    def case(name, ada):
        c = Case(name, roster=titles + line.format(11, "Ada Lovelace", 1, ada) + line.format(12, "Jürgen Weiß", 2, "-"))
        c.in_out("late_rules.csv", DUE)
        return c

    c = case("worksheet_untimed", "Friday, 20 November 2026, 1:12 PM")
    c.in_out("who.csv", "handed_in,student\nGuest,Jürgen Weiß\n")
    c.file("COURSE-1.zip", zipped({"Ada Lovelace_11" + mark: "ada", "Guest_98" + mark: "jw", "Zoë Berg_99" + mark: "zoe"},
                                  flag_utf8=True, hours=90), hours=95)
    c.taken("Ada Lovelace", "ada")
    c.taken("Jürgen Weiß", "jw")
    c.taken("Zoë Berg", "zoe")
    c.stranger()
    c.todo("Jürgen Weiß, lesson 01: the grading worksheet has no such hand-in, and nothing says when: taken as not late",
           "Zoë Berg, lesson 01: the grading worksheet has no such hand-in")
    c.close()
    # In the languages of two; in others the run says what to do.
    for name, ada in (("worksheet_german", "Freitag, 20. November 2026, 13:12"),
                      ("worksheet_french", "vendredi 20 novembre 2026, 13:12")):
        c = case(name, ada)
        c.file("COURSE-1.zip", zipped({"Ada Lovelace_11" + mark: "ada"}, flag_utf8=True, hours=90), hours=90)
        c.taken("Ada Lovelace", "ada")
        c.missing("Jürgen Weiß")
        if name == "worksheet_french":
            c.todo('its times cannot be read: "vendredi 20 novembre 2026, 13:12"', "Set your language in Moodle to English")
        c.close()
    # Gradescope's files have no time of a hand-in, and its table may have none either.
    c = Case("gradescope_untimed")
    c.in_out("late_rules.csv", DUE)
    c.file("submission_metadata.yml", "submission_1:\n  :submitters:\n  - :name: Ada\n")
    c.file("submission_1/vector_add.cu", "ada", hours=90)
    c.taken("Ada", "ada")
    c.lines.append("nothing says when 1 of the files came in: taken as not late")
    c.close()


def assignments(roster, book):
    # Two assignments at once, in each the other one's exercise as it was handed out: of each lesson
    # what was worked on counts, whichever the platform calls the later one.
    stub, answers = exercise(), exercise("21_flop_counting/answers.txt")
    work = {"hw1": {"vector_add.cu": "ada", "answers.txt": answers}, "hw21": {"vector_add.cu": stub, "answers.txt": "ada"}}
    early = {"vector_add.cu": "jw", "answers.txt": "early"}

    def strangers(c, first="X"):
        for i in range(2):
            for lesson in ("01", "21"):
                c.taken(f"{first}{i}", "x", lesson)
                c.stranger()

    def both(c):
        for name, text in (("Ada Lovelace", "ada"), ("Jürgen Weiß", "jw")):
            note = f"handed in more than once; what was handed in for this lesson counts: {c.second}"
            c.taken(name, text)
            c.taken(name, text, "21", note="" if text == "ada" else note)
        c.close()

    for late in ("hw1", "hw21"):  # what was downloaded last
        c = Case("assignments_moodle_" + late, lesson="01,21", roster=roster)
        for n, hw in enumerate(work, 11):
            mark = "_assignsubmission_file_/"
            files = {f"Ada Lovelace_{n}{mark}{k}": v for k, v in work[hw].items()}
            files.update({f"Jürgen Weiß_{n + 50}{mark}{k}": v for k, v in
                          (early if hw == "hw1" else {"answers.txt": "jw"}).items()})
            files.update({f"X{i}_{n}{i}{mark}{'vector_add.cu' if hw == 'hw1' else 'answers.txt'}": "x" for i in range(2)})
            c.file(f"COURSE-{hw}-{n}.zip", zipped(files, flag_utf8=True, hours=9 * (late == hw)), hours=9 * (late == hw))
        c.second = "Jürgen Weiß in COURSE-hw21-12.zip of 2026-11-20 " + ("21:00" if late == "hw21" else "12:00")
        strangers(c)
        both(c)
    c = Case("assignments_canvas", lesson="01,21", roster=book)
    for n, hw in enumerate(("hw21", "hw1"), 5):  # hw1 has the higher numbers
        files = {f"lovelaceada_11_{n}_work.zip": zipped(work[hw])}
        files.update({f"weißjürgen_12_{n}{k}_{name}": text for k, (name, text) in
                      enumerate((early if hw == "hw1" else {"answers.txt": "jw"}).items())})
        files.update({f"x{i}_9{i}_{n}{i}_{'vector_add.cu' if hw == 'hw1' else 'answers.txt'}": "x" for i in range(2)})
        c.file(f"{hw}.zip", zipped(files, flag_utf8=True))
    c.second = "weißjürgen in hw21.zip"
    strangers(c, "x")
    c.missing("Nora Nobody")
    c.missing("Nora Nobody", "", "21")
    c.missing("Zoë Berg")
    c.missing("Zoë Berg", "", "21")
    both(c)
    # Of one template, and nobody else says what either is about.
    c = Case("assignments_classroom", lesson="01,21")
    for hw in work:
        for name, text in work[hw].items():
            where = "01_vector_add" if name == "vector_add.cu" else "21_flop_counting"
            c.file(f"{hw}-submissions/{hw}-ada/exercises/{where}/{name}", text)
    c.taken("ada", "ada")
    c.taken("ada", "ada", "21")
    c.close()
    # Gradescope knows times: the later one's exercise hides nothing.
    c = Case("assignments_gradescope", lesson="01,21")
    for n, hw in enumerate(work, 1):
        for name, text in work[hw].items():
            c.file(f"assignment_{n}_export/submission_{n}/{name}", text)
        c.file(f"assignment_{n}_export/submission_metadata.yml", f"submission_{n}:\n  :submitters:\n  - :name: Ada\n"
               f"  :created_at: 2026-11-2{n} 10:00:00 Z\n")
    c.taken("Ada", "ada")
    c.taken("Ada", "ada", "21")
    c.close()
    # A later assignment is no second one of the first, and an empty file in it hides nothing.
    c = Case("assignments_one", lesson="01,21", roster=roster)
    mark = "_assignsubmission_file_/"
    c.file("COURSE-hw1-1.zip", zipped({f"Ada Lovelace_11{mark}{k}": "one" for k in work["hw1"]} |
                                      {f"Jürgen Weiß_12{mark}vector_add.cu": "jw"}, flag_utf8=True))
    c.file("COURSE-hw21-2.zip", zipped({f"Ada Lovelace_21{mark}answers.txt": "two",
                                        f"Jürgen Weiß_22{mark}vector_add.cu": ""}, flag_utf8=True, hours=1), hours=1)
    c.taken("Ada Lovelace", "one")
    c.taken("Ada Lovelace", "two", "21", note="handed in more than once; what was handed in for this lesson counts: "
            "Ada Lovelace in COURSE-hw21-2.zip of 2026-11-20 13:00")
    c.taken("Jürgen Weiß", "jw", note="Jürgen Weiß in COURSE-hw21-2.zip of 2026-11-20 13:00: an empty file")
    c.missing("Jürgen Weiß", "", "21")
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
