#!/bin/sh
# sweep.sh: make trace, and the tile sweep (slides/sweep) beside it: in a browser without a screen,
# step by step, in every mode. Both are shown to fail where they should. SAMPLE="96 WORD" in the
# environment: one in six of the planted mistakes, drawn by WORD. usage: sweep.sh
# shellcheck disable=SC2016  # sed's and awk's own $
. grader/test/tell.sh
. grader/make/chromium.sh
. grader/make/save.sh
unset FILE FROM MAKEFLAGS MAKELEVEL MFLAGS
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

# ---- make trace ----

lessons=$(for patch in grader/*/trace.patch; do basename "$(dirname "$patch")"; done)
for lesson in $lessons; do
    expect "trace: $lesson only adds to the kernel" sh -c "! grep '^-' grader/$lesson/trace.patch | grep -v '^--- '"
    stub "$lesson" >"$tmp/$lesson.cu"
    traced=$(sed -n 's/^--- //p' "grader/$lesson/trace.patch")
    case $traced in
    */steps/*) ;; # the exercise is another kernel
    *) expect "trace: $lesson, its lines fit the exercise" \
        patch -s -r - -o "$tmp/traced.cu" "$tmp/$lesson.cu" "grader/$lesson/trace.patch" ;;
    esac
    expect "trace: $lesson" sh -c "make -s trace LESSON=$lesson >'$tmp/$lesson.json'"
    cp "$traced" "$tmp/copy.cu"
    expect "trace: $lesson by one worker, of a copy, is the same" sh -c "
        CUDEV_WORKERS=1 make -s trace LESSON=$lesson FILE='$tmp/copy.cu' | sed 1d >'$tmp/again' &&
        sed 1d '$tmp/$lesson.json' | cmp - '$tmp/again'"
done
sh grader/test/wrong.sh list 12_flash_forward >/dev/null
expect "trace: of another kernel" sh -c "
    make -s trace LESSON=12 FILE=build/wrong/12_flash_forward/O_not_rescaled.cu >'$tmp/wrong.json'"
says() { # says TEXT LESSON [VARIABLE=...]: make trace fails, and says this
    text=$1
    shift
    expect "trace: $text" sh -c 'text=$1; shift; ! make -s trace "$@" >/dev/null 2>"$0" && grep -qF "$text" "$0"' \
        "$tmp/said" "$text" "$@"
}
says "Lesson 01_vector_add has no trace. These have: 12_flash_forward" LESSON=01
says "does not compile with the lines of" LESSON=12 FILE="$tmp/12_flash_forward.cu"
says "do not fit between its own" LESSON=12 FILE=solutions/12_flash_forward/steps/1_naive.cu

# ---- the page ----

[ -n "$(find_chromium)" ] || {
    tell skip "the page" "there is no chromium (sh setup.sh --dev)"
    finish && exit 77
    exit 1
}

# whole FOLDER: the page as one file, with what it loads in it.
whole() {
    while IFS= read -r line; do
        case $line in
        *'<link rel="stylesheet"'*) echo "<style>" && cat "$1/$(echo "$line" | sed 's/.*href="//;s/".*//')" && echo "</style>" ;;
        *'<script src='*) echo "<script>" && cat "$1/$(echo "$line" | sed 's/.*src="//;s/".*//')" && echo "</script>" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$1/index.html"
}

# browse PAGE TRACES [FLAG [CASES]]: what check.js says of the page, walking through the cases
# whose names match the regular expression; all without one.
browse() {
    {
        cat "$1"
        echo "<script>const WALKED = /^(${4:-.*})\$/;"
        cat "$2" grader/test/sweep/check.js
        echo '</script>'
    } >"$tmp/checked.html"
    # shellcheck disable=SC2086  # flags
    chromium_run --window-size=1280,1000 ${3:---force-prefers-reduced-motion} --dump-dom "$(file_url "$tmp/checked.html")" \
        2>"$tmp/said" | sed -n '/<pre id="verdict">$/,/^end$/p' | sed '/<pre/d;/^$/d'
}
# traces FILE...: as JavaScript.
traces() {
    echo "const TRACES = ["
    for json; do
        cat "$json"
        echo ","
    done
    echo "];"
}
whole slides/sweep >"$tmp/sweep.html"
page=$tmp/sweep.html
# shellcheck disable=SC2046,SC2086  # one word a lesson
traces $(printf "$tmp/%s.json " $lessons) >"$tmp/traces.js"

browse "$page" "$tmp/traces.js" >"$tmp/verdict"
while read -r outcome what; do
    case $outcome in ok | FAIL) tell "$outcome" "page: $what" ;; esac
done <"$tmp/verdict"
came_to_the_end() {
    grep -qx end "$tmp/verdict" || {
        tail -n 3 "$tmp/said"
        return 1
    }
}
expect "page: all of that was looked at" came_to_the_end
# With the transitions that a system without "reduced motion" gets; the numbers are the same.
browse "$page" "$tmp/traces.js" --no-first-run '(backward )?causal' >"$tmp/verdict"
expect "page: the same when colours fade" sh -c '! grep -v "^ok " "$0" | grep -vx end && grep -x "ok motion: as usual" "$0"' \
    "$tmp/verdict"

browse "$page" "$tmp/traces.js" "--force-prefers-reduced-motion --blink-settings=preferredColorScheme=0" >"$tmp/verdict"
expect "page: the same in the dark" sh -c '! grep -v "^ok " "$0" | grep -vx end && grep -x "ok colours: dark" "$0"' "$tmp/verdict"
# Opened as it stands, it finds its parts, and nothing else.
loads_its_parts() {
    chromium_run --dump-dom "$(file_url slides/sweep/index.html)#backward-causal/9" >"$tmp/opened" &&
        grep -q 'data-mode="causal" data-q="1" data-k="1"' "$tmp/opened" && ! grep -E '(src|href)="[a-z]*:' "$tmp/opened"
}
expect "page: opened from its folder, at a step" loads_its_parts

# On a phone: a frame 390 wide.
phone='const f = document.getElementById("phone"); f.onload = () => {
    const d = f.contentDocument, w = f.contentWindow, wrong = [];
    if (d.documentElement.scrollWidth > 390) wrong.push(`${d.documentElement.scrollWidth} wide`);
    const texts = d.createTreeWalker(d.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const e = texts.currentNode.parentElement, size = parseFloat(w.getComputedStyle(e).fontSize);
        if (texts.currentNode.data.trim() && !e.closest("script") && e.getClientRects().length && size < 12.5)
            wrong.push(`letters of ${size}: ${texts.currentNode.data.trim()}`);
        const cell = e.closest("td, .map div");
        if (cell && cell.scrollWidth > cell.clientWidth + 1) wrong.push(`wider than its cell: ${e.textContent}`);
    }
    const worked = d.getElementById("worked");
    if (d.body.dataset.pass === "forward" && worked.scrollHeight > worked.clientHeight + 1) wrong.push("a worked sum is cut");
    document.body.innerHTML = `<p>phone: ${wrong.slice(0, 5).join("; ") || "all legible"}</p>`;
};'
on_phone() { # on_phone PAGE [STEP]
    cp "$1" "$tmp/framed.html"
    echo "<iframe id='phone' width='390' height='844' src='framed.html${2-}'></iframe><script>$phone</script>" >"$tmp/phone.html"
    chromium_run --allow-file-access-from-files --dump-dom "$(file_url "$tmp/phone.html")" | sed -n 's|.*<p>\(phone: .*\)</p>.*|\1|p'
}
for step in "" "#backward-full/13" "#backward-causal-and-ragged/20"; do
    on_phone "$page" "$step" >"$tmp/phone"
    expect "page$step: legible on a phone of 390 pixels" grep -qx "phone: all legible" "$tmp/phone"
done
sed 's/@media (max-width: 700px)/@media (max-width: 300px)/' "$page" >"$tmp/wide.html"
on_phone "$tmp/wide.html" >"$tmp/phone"
expect "found: a page without a phone's layout" grep -q "letters of [0-9.]*: " "$tmp/phone"

sed 's/max-height: 6.7rem/max-height: 6.4rem/' "$page" >"$tmp/wide.html"
on_phone "$tmp/wide.html" >"$tmp/phone"
expect "found: a sum that is cut on a phone" grep -q "a worked sum is cut" "$tmp/phone"

# ---- mistakes, which have to be found ----

# found NAME WHERE PAGE TRACES: an item of check.js that begins with WHERE, "CASE: WHAT", fails.
found() {
    browse "$3" "$4" --force-prefers-reduced-motion "${2%%:*}" >"$tmp/verdict"
    if grep -q "^FAIL $2" "$tmp/verdict"; then
        tell ok "found: $1"
    else
        tell FAIL "found: $1" "nothing that begins with \"$2\" fails: $(tail -n 2 "$tmp/verdict" "$tmp/said")"
    fi
}
# planted NAME WHERE SED-COMMAND: in the page.
planted() {
    sed "$3" "$page" >"$tmp/planted.html"
    if cmp -s "$page" "$tmp/planted.html"; then
        tell FAIL "found: $1" "the page has no such line any more; write the mistake anew"
    elif drawn "sweep $1" 16; then
        found "$1" "$2" "$tmp/planted.html" "$tmp/traces.js"
    fi
}
tile='full: Q, K, V, S'
planted "O is not rescaled by alpha" "$tile" 's/let sum = f32(o \* alpha\[i\])/let sum = o/'
planted "l is not rescaled by alpha" "$tile" 's/f32(x \* alpha\[i\])/x/'
planted "m forgets the tiles before" "$tile" 's/Math.max(before.m\[i\], \.\.\.row)/Math.max(...row)/'
planted "P is not relative to m" "$tile" 's/Math.exp(f32(s - base\[i\]))/Math.exp(s)/'
planted "other inputs" "$tile" 's/1013904223/1013904221/'
planted "a mask aligned at the top left" "causal: Q, K, V, S" 's/i + 1 + mode.N_k - mode.N_q/i + 1/'
planted "keys beyond the end are not masked" "ragged: Q, K, V, S" 's/< keysSeen(mode, q \* BLOCK + i) ?/< MAX_N ?/'
planted "(-inf) - (-inf)" "causal and ragged: Q, K, V, S" 's/x === -Infinity ? 0 : x/x/'
planted "a block of the mask is not skipped" "block-sparse: Q, K, V, S" 's/\[0, 1, 1, 0\]/[0, 1, 1, 1]/'
planted "LSE in base 2" "full: O and LSE" 's/Math.log(/Math.log2(/'
planted "shown with another sign" "full: Q, K, V, S" 's/replace("-", "\\u2212")/replace("-", "")/'
planted "a sum that does not add up as shown" "full: sums" 's/show(missing(step.l\[r\], sum))/show(step.alpha[r] * b.l[r])/'
backward='backward full: Q, dO, K, V, P'
planted "delta is not subtracted" "$backward" 's/ - (delta\[q \* BLOCK + i\] || 0)//'
planted "the walk begins at the first queries" "$backward" 's/let q = T_q - 1; q >= 0; q--/let q = 0; q < T_q; q++/'
planted "a share of dQ that replaces the others" "$backward" 's/f32(sum + last.share/f32(last.share/'
planted "dK of P" "$backward" 's/grown(before.dK, dS, Qt)/grown(before.dK, P, Qt)/'
planted "dK without scale" "backward full: delta, dQ, dK" 's/dK: last.dK.map(row => row.map(x => f32(SCALE \* x)))/dK: last.dK/'
planted "queries that see nothing pass" "backward causal: skipped" 's/(q + 1) \* BLOCK > seenFrom(mode, k \* BLOCK)/true/'
planted "a mask aligned at the top left, backward" "backward causal: Q, dO" 's/j - mode.N_k + mode.N_q/j/'
planted "rows beyond the end count" "backward causal and ragged: Q, dO" 's/ && i < mode.N_q;/;/'
planted "the backward's sums are not those shown" "backward full: sums" 's/vector(missing(to, from))/vector(to.map((x, n) => x - from[n]))/'
planted "bytes of dO forgotten" "backward full: bytes" 's/rows \* (2 \* BLOCK \* 2 + 4 + 4)/rows * (BLOCK * 2 + 4 + 4)/'
planted "numbers wider than their cells" "full: legible" 's/td { width: 3.45rem/td { font-size: 1.3rem; width: 3.45rem/'
planted "grey on white" "full: legible" 's/\.stale td { color: var(--dim)/.stale td { color: #aaa/'
traces "$tmp/wrong.json" >"$tmp/wrong.js"
found "a kernel that forgets to rescale O, by its trace" "$tile" "$page" "$tmp/wrong.js"
finish
