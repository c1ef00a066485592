# file.sh: which file a command is about. Sourced, not run.
# shellcheck shell=sh

# file_of LESSON: FILE=, or the lesson's own in exercises/, or FROM=solutions.
file_of() {
    echo "${FILE:-${FROM:-exercises}/$1/${1#*_}.cu}"
}
