#!/bin/sh
# devcontainer.sh: does .devcontainer/ make a place to work in? Docker is not needed: the steps of
# its Dockerfile are done in a bare Debian, which fresh.sh makes (as root, with debootstrap and a
# network), then its user's command; and there a grade, clangd, the completion, the book.
# usage: devcontainer.sh; devcontainer.sh inside: as root in the clone in that Debian
if [ "${1:-}" != inside ]; then
    exec sh "$(dirname "$0")/fresh.sh" sh grader/test/devcontainer.sh inside
fi
. grader/test/tell.sh
docker=.devcontainer/Dockerfile container=.devcontainer/devcontainer.json
step() { # step WHAT COMMAND...
    start=$(date +%s)
    expect "$@"
    echo "--- $(($(date +%s) - start)) s"
}
if command -v gcc make; then
    tell FAIL "a bare Debian" "gcc or make is there before the first step"
    finish
    exit
fi
. /etc/os-release
while read -r instruction words; do
    case $instruction in
    FROM)
        # shellcheck disable=SC2153  # of os-release
        if [ "$words" = "$ID:$VERSION_ID" ]; then tell ok "this is $words"; else
            tell FAIL "this is $words" "it is $ID:$VERSION_ID"
        fi
        ;;
    COPY) step "COPY $words" cp "${words% *}" "${words##* }" ;;
    RUN) step "RUN $words" sh -c "$words" ;;
    '' | '#'*) ;;
    *) tell FAIL "$instruction $words" "devcontainer.sh does not know this instruction" ;;
    esac
done <$docker

of() { # of PATH: a value of devcontainer.json, "build.dockerfile"
    perl -MJSON::PP -0777 -e '
        my $v = decode_json(scalar <STDIN>);
        $v = $v->{$_} for split /[.]/, shift;
        print ref $v ? join(" ", @$v) : $v' "$1" <$container
}
user=$(of remoteUser)
as_user() { su - "$user" -c "cd '$PWD' && $1"; }
if [ "$(of build.dockerfile)" = Dockerfile ] && [ "$(of build.context)" = .. ]; then
    tell ok "devcontainer.json names this Dockerfile"
else
    tell FAIL "devcontainer.json names this Dockerfile" "$(of build.dockerfile) in $(of build.context)"
fi
# fresh.sh has the clone in /home, so that a home may be there before its user.
chown -R "$user": "$(getent passwd "$user" | cut -d: -f6)" .
step "$user: $(of postCreateCommand)" as_user "$(of postCreateCommand)"
step "$user has a grade of the solution" as_user 'make grade LESSON=12 FROM=solutions | grep "Score: 100/100"'
step "the untouched exercise stands in the editor as a problem" as_user '
    make -s grade LESSON=12 FORMAT=problems 2>&1 >/dev/null | grep "^exercises/12_flash_forward/flash_forward.cu:[0-9]*:1: error: "'
step "clangd is where devcontainer.json says, and has nothing to say of the solution" as_user "
    grep -q '\"/usr/bin/clangd\"' $container && /usr/bin/clangd --check=solutions/12_flash_forward/flash_forward.cu --check-lines=1"
step "a shell completes make's words" as_user "bash -ic 'complete -p make' | grep -e '-F'"
step "$user installs what is missing without a password" as_user 'sudo -n true'
step "the book is made" as_user 'make book'
finish
