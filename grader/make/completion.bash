# completion.bash: a shell completes make's commands and their words in the course's folder: LESSON=,
# CASE=, CARD= and the others. In ~/.bashrc:
#     . /path/of/the/course/grader/make/completion.bash
# in ~/.zshrc:
#     autoload -U +X compinit bashcompinit && compinit && bashcompinit
#     . /path/of/the/course/grader/make/completion.bash
# In other folders make is completed as before.
# shellcheck shell=bash

# What each command takes. make's own words for all: one line a command.
_course_commands() {
    cat <<'TABLE'
grade LESSON= FILE= FROM= DEVICE= SEED= CASE= CARD= FORMAT= ISOLATION= BUILD=
hint LESSON= CAUSE=
watch LESSON= FILE= FROM= DEVICE= SEED= CASE= CARD= FORMAT= ISOLATION=
debug LESSON= CASE= FILE= FROM= SEED= CARD=
profile LESSON= FILE= FROM= SEED= CARD= FORMAT=
trace LESSON= FILE= FROM=
bench LESSON= BUDGET= PYTHON=
torch LESSON= FROM= FILE= PARTNER= PYTHON= DEVICE= SEED=
train FROM= MODEL= STEPS= WARM= SEED= OUT= DEVICE= GPUS= NCCL=
run FILE= ARGS= FLAGS= IN= WATCH=
install-cpu PREFIX=
tune LESSON= SHARED=
plots PNG= GPU= DATA=
doctor
reset LESSON=
update
editor
class SUBMISSIONS= LESSON= ROSTER= SECRET= JOBS= OUT= ENGINE= STUDENT= ITEM= REPLAY= GRES= LAYOUT= DRY=
handout OUT= GRADED=
gradescope LESSON= OUT=
exercises
new LESSON= NAME=
texts LESSON= FIGURES=
slides DECK= GRADED=
book PDF= LESSON=
wrong LESSON= SAVE=
test LESSON= TEST_SEED= SAMPLE=
soak LESSON=
fuzz FUZZ_SECONDS=
analyze
coverage
mutate-grader LESSON=
mutants LESSON= SAMPLE=
test-gpu LESSON=
test-torch PYTHON= DEVICE=
test-cpu
test-aarch64
proof
bench-cpu
format
clean
TABLE
}

# _course_lesson VALUE: the folder's name of LESSON=VALUE, which may be 12, 2, flash_forward or
# 12_flash_forward
_course_lesson() {
    local folder name
    for folder in lessons/[0-9][0-9]_*/; do
        name=${folder#lessons/}
        name=${name%/}
        case $name in "$1" | "$1"_* | "0$1"_* | [0-9][0-9]_"$1")
            echo "$name"
            return
            ;;
        esac
    done
}

# _course_values VARIABLE TYPED LESSON COMMAND: what VARIABLE= can be, a line each. A name that ends in
# / goes on.
_course_values() {
    local place lesson
    case $1 in
    LESSON | GRADED)
        for place in lessons/[0-9][0-9]_*/; do
            place=${place%/}
            place=${place#lessons/}
            # A number first; a letter that was typed asks for names alone.
            case $2 in [a-z]*) echo "${place#*_}" ;; *) echo "$place" ;; esac
        done
        [ "$1" = GRADED ] || [ "$4" != bench ] || echo all
        ;;
    FROM | PARTNER) printf '%s\n' exercises solutions ;;
    WATCH) printf '%s\n' check profile check,profile ;;
    MODEL) printf '%s\n' tiny small 124m ;;
    DEVICE) printf '%s\n' cpu cuda ;;
    FORMAT)
        if [ "$4" = profile ]; then printf '%s\n' table csv json; else printf '%s\n' text problems json; fi
        ;;
    ISOLATION) printf '%s\n' bubblewrap userid limits ;;
    BUILD) echo debug ;;
    CARD) sed -n 's/^    {"\([a-z0-9]*\)", "NVIDIA.*/\1/p' grader/cpu/cards/cards.c ;;
    CASE) [ -z "$3" ] || "build/grader/$3/check" --list 2>/dev/null ;;
    CAUSE) [ -z "$3" ] || sed -n 's/^### //p' "lessons/$3/hints.md" lessons/hints.md 2>/dev/null | sort -u ;;
    GPU)
        for place in plots/data/*/; do
            place=${place%/}
            echo "${place##*/}"
        done
        ;;
    DECK)
        for place in slides/[0-9]*.md; do
            place=${place##*/}
            echo "${place%%_*}"
        done
        ;;
    SAVE)
        echo all
        for place in "build/wrong/$3"/*.cu; do
            place=${place##*/}
            [ -z "$3" ] || echo "${place%.cu}"
        done
        ;;
    PDF | PNG) echo 1 ;;
    DATA) echo traffic ;;
    FIGURES) echo only ;;
    FILE | IN | PREFIX | OUT | SUBMISSIONS | ROSTER | REPLAY)
        for place in "$2"*; do
            if [ -d "$place" ]; then echo "$place/"; elif [ -e "$place" ]; then echo "$place"; fi
        done
        ;;
    esac
}

_course_make() {
    local line=${COMP_LINE:0:$COMP_POINT} raw='' typed='' quote='' i=0 c word lesson='' command='' variable='' value
    COMPREPLY=()
    if [ ! -e grader/make/completion.bash ] || [ ! -e Makefile ]; then
        # bash-completion's own, if it is there
        ! type _make >/dev/null 2>&1 || _make "$@"
        return
    fi
    # The last word as it was typed, and what it means; the words before it tell command and lesson.
    while [ "$i" -lt "${#line}" ]; do
        c=${line:$i:1}
        i=$((i + 1))
        if [ -z "$quote" ] && [ "$c" = ' ' ]; then
            case $typed in
            LESSON=*) lesson=$(_course_lesson "${typed#LESSON=}") ;;
            '' | make | -* | *=*) ;;
            *) [ -n "$command" ] || command=$typed ;;
            esac
            raw='' typed=''
            continue
        fi
        raw=$raw$c
        if [ "$c" = "$quote" ]; then
            quote=''
        elif [ -z "$quote" ] && { [ "$c" = "'" ] || [ "$c" = '"' ]; }; then
            quote=$c
        elif [ -z "$quote" ] && [ "$c" = "\\" ]; then
            typed=$typed${line:$i:1}
            raw=$raw${line:$i:1}
            i=$((i + 1))
        else
            typed=$typed$c
        fi
    done
    case $typed in
    [A-Z]*=*) variable=${typed%%=*} ;;
    esac
    # What readline replaces: bash breaks words at = and :, zsh does not.
    local kept=''
    if [ -n "${ZSH_VERSION:-}" ]; then
        kept=''
    elif [ -n "$quote" ]; then
        kept=${raw%%"$quote"*}$quote
    else
        case $raw in *[=:]*) kept=${raw%"${raw##*[=:]}"} ;; esac
    fi
    local all end
    while IFS= read -r word; do
        [ -n "$word" ] || continue
        value=$word end=' '
        case $word in *= | */) end='' ;; esac
        [ -z "$variable" ] || value=$variable=$word
        case $value in "$typed"*) ;; *) continue ;; esac
        if [ -n "$quote" ] && [ -z "${ZSH_VERSION:-}" ]; then
            all=$variable=$quote$word end=''
        elif [ -n "$variable" ]; then
            all=$variable=$(printf '%q' "$word")
        else
            all=$word
        fi
        COMPREPLY+=("${all#"$kept"}$end")
    done <<CANDIDATES
$(if [ -n "$variable" ]; then
        _course_values "$variable" "${typed#*=}" "$lesson" "$command"
    elif [ -n "$command" ]; then
        _course_commands | sed -n "s/^$command //p" | tr ' ' '\n'
    else
        _course_commands | sed 's/ .*//'
    fi)
CANDIDATES
}

complete -o nospace -o bashdefault -o default -F _course_make make
