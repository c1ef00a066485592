# save.sh: keep a copy of a student's file before anything is done to it. Sourced, not run.
# shellcheck shell=sh

. grader/make/file.sh

saved="saved/$(date +%Y-%m-%d_%H.%M.%S)"

# save FILE: copies it to saved/DATE/FILE and says so; ends the script if that fails.
save() {
    mkdir -p "$saved/$(dirname "$1")" && cp -p "$1" "$saved/$1" || {
        echo "$1 could not be saved to $saved; nothing was changed." >&2
        exit 2
    }
    echo "Your $1 was saved as $saved/$1."
}

# solution LESSON, exercise LESSON: the two files of a lesson.
solution() {
    echo "solutions/$1/$(name_of "$1")"
}
exercise() {
    echo "exercises/$1/$(name_of "$1")"
}

# stub LESSON: prints the untouched exercise.
stub() {
    if [ -f "$(solution "$1")" ]; then
        awk -f grader/make/cut.awk "$(solution "$1")"
    else
        # The student edition: its first commit has the exercises untouched.
        git show "$(git rev-list --max-parents=0 HEAD | tail -n 1):$(exercise "$1")"
    fi
}
