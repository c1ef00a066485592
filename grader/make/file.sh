# file.sh: which file a command is about. Sourced, not run.
# shellcheck shell=sh
# shellcheck disable=SC2034  # the scripts that source this use it
build=build${BUILD:+/$BUILD} # where make puts what it builds

# A lesson without a call.c has no kernel: what is handed in is a text, answers.txt.
has_kernel() {
    [ -e "grader/$1/call.c" ]
}

# ending_of LESSON: of its solution, and of all that is graded beside it; name_of LESSON: of its
# exercise.
ending_of() {
    if has_kernel "$1"; then echo cu; else echo txt; fi
}
name_of() {
    if has_kernel "$1"; then echo "${1#*_}.cu"; else echo answers.txt; fi
}

# solution LESSON, exercise LESSON: the two files of a lesson.
solution() {
    echo "solutions/$1/$(name_of "$1")"
}
exercise() {
    echo "exercises/$1/$(name_of "$1")"
}

# need_solutions: ends the script with a sentence in the student edition.
need_solutions() {
    [ -d solutions ] || {
        echo "This is the student edition: it has no solutions, and this command needs them." >&2
        exit 2
    }
}
case ${FILE:-${FROM:-}} in solutions | solutions/*) need_solutions ;; esac
case ${FILE:-} in -*) FILE=./$FILE ;; esac # a name, and no option
[ -n "${FILE:-}" ] || [ -d "${FROM:-.}" ] || {
    echo "FROM=$FROM: there is no such folder. FROM= is exercises or solutions." >&2
    exit 2
}

# file_of LESSON: FILE=, or the lesson's own in exercises/, or FROM=solutions.
file_of() {
    echo "${FILE:-${FROM:-exercises}/$1/$(name_of "$1")}"
}

# need_kernel LESSON WHAT: ends the script with a sentence if there is none.
need_kernel() {
    has_kernel "$1" || {
        echo "Lesson $1 has no kernel, so there is nothing to $2: make grade LESSON=${1%%_*} says what it finds."
        exit 0
    }
}
