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

# handed_out: the commit of the last `make handout` in this clone, which students' commits, and an
# instructor's own, may lie upon; nothing where none made it. A service that copies files without
# their history leaves one commit: that one.
edition="The course, student edition"
handed_out() {
    git log --topo-order -n 1 --format=%H --grep="^$edition\$"
}

# stub LESSON: prints the untouched exercise.
stub() {
    if [ -f "$(solution "$1")" ]; then
        awk -f grader/make/cut.awk "$(solution "$1")"
    else
        given=$(handed_out)
        git show "${given:-$(git rev-list --max-parents=0 HEAD | tail -n 1)}:$(exercise "$1")"
    fi
}
