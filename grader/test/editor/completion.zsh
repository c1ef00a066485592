# completion.zsh: what zsh completes through bashcompinit, typed into a shell of its own.
# usage: zsh -f completion.zsh    from the course's folder
zmodload zsh/zpty || exit 1
dump=$(mktemp) wrong=0
trap 'rm -f "$dump" "$dump.zwc"' EXIT
zpty shell "zsh -f -i"
zpty -w shell "cd ${(q)PWD}; stty -echo; PS1=; unsetopt prompt_cr prompt_sp; autoload -U +X compinit bashcompinit && compinit -u -D && bashcompinit; . grader/make/completion.bash; echo is ready"
heard= more=
hear() { # hear WORDS: until they are heard, 20 s at most
    heard=
    for _ in {1..200}; do
        while zpty -r -t shell more; do heard+=$more; done
        [[ $heard = *$1* ]] && return
        sleep 0.1
    done
    echo "nothing was heard; only: $heard"
    exit 1
}
hear 'is ready'
# typed WORDS WANTED: tab behind the words; printf tells what they became. A terminal may repeat what
# is typed before zsh reads it: the word that is waited for does not stand there.
typed() {
    zpty -w -n shell $'\x15'"$1"$'\t\x01printf "<%s>" \x05 ; echo do""ne\n'
    hear $'done'
    if [[ $heard = *"$2"* ]]; then echo "ok $1"; else
        echo "\"$1\" became ${(V)heard}, not $2"
        wrong=1
    fi
}
typed 'make grade LESSON=12_f' '<make><grade><LESSON=12_flash_forward>'
typed 'make grade LES' '<make><grade><LESSON=>'
typed 'make gradesc' '<make><gradescope>'
typed 'make grade LESSON=12 CASE=no' '<make><grade><LESSON=12><CASE=no races, no stray accesses>'
typed 'make grade LESSON=12 CARD=rtx4' '<CARD=rtx4090>'
typed 'make grade FILE=solutions/12_flash_forward/fl' '<FILE=solutions/12_flash_forward/flash_forward.cu>'
exit $wrong
