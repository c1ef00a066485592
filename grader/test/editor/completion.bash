# completion.bash: what bash completes, by calling the function as bash does. A line of the table is
# what was typed and what is offered, | between. usage: bash completion.bash    from the course's
# folder
# shellcheck shell=bash
. grader/make/completion.bash
wrong=0
complete -p make | grep -q -- '-F _course_make make$' || {
    echo "make has no completion"
    exit 1
}
offered() {
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    _course_make make
    local IFS='|'
    echo "${COMPREPLY[*]}"
}
while IFS= read -r row; do
    typed=${row%%" -> "*} wanted=${row#*" -> "}
    got=$(offered "$typed")
    case $got in
    $wanted) echo "ok $typed" ;;
    *)
        echo "\"$typed\" offers $got, not $wanted"
        wrong=1
        ;;
    esac
done <<'TABLE'
make gr -> grade |gradescope 
make grade LES -> LESSON=
make grade F -> FILE=|FROM=|FORMAT=
make grade LESSON=1 -> 10_online_softmax |11_cross_entropy |12_flash_forward *
make grade LESSON=flash_f -> flash_forward 
make -s grade LESSON=12_f -> 12_flash_forward 
make grade LESSON=12 CASE=no -> no\\ races\\,\\ no\\ stray\\ accesses 
make grade LESSON=2 CASE= -> *\\ *
make grade LESSON=12 CASE=no\ ra -> no\\ races\\,\\ no\\ stray\\ accesses 
make grade LESSON=12 CASE='no -> no races, no stray accesses
make grade LESSON=21 CASE=forward_flops: -> \\ FLOPs\\ of\\ a\\ forward\\ pass 
make grade FROM= -> exercises |solutions 
make run WATCH=c -> check |check\\,profile 
make train MODEL= -> tiny |small |124m 
make run IN=sol -> solutions/
make grade DEVICE=c -> cpu |cuda 
make grade CARD=rtx4 -> rtx4090 
make grade FORMAT= -> text |problems |json 
make profile LESSON=5 FORMAT= -> table |csv |json 
make grade FILE=solutions/12_flash_forward/fl -> solutions/12_flash_forward/flash_forward.cu 
make grade FILE=solutions/12_flash_forward/st -> solutions/12_flash_forward/steps/
make hint LESSON=12 CAUSE=no_rescale_ -> no_rescale_O 
make bench LESSON=al -> all 
make plots GPU=nvidia -> nvidia-h200*
make book PDF= -> 1 
make grade LESSON=99 CASE= -> 
make nothing_of_this_name -> 
TABLE
# In another folder nothing of the course is offered.
cd / || exit 1
if [ -z "$(offered 'make gr')" ]; then echo "ok elsewhere"; else
    echo "in another folder commands of the course are offered"
    wrong=1
fi
exit $wrong
