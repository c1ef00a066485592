#!/bin/sh
# headers.sh: every header of lessons/ says from which lesson on it may be included; what is cut
# from a solution is as the solution is now, without what an exercise has in its place.
status=0
for header in lessons/*.h; do
    sed -n 1p "$header" | grep -q "^// from lesson [0-3][0-9]: ${header#*/}: [^ ]" || {
        echo "$header: write on its first line: // from lesson NN: ${header#*/}: what it is"
        status=1
    }
    ! grep -q '// AS GIVEN' "$header" || {
        echo "$header has what is given in a gap of the exercise"
        status=1
    }
    awk -f grader/make/taught.awk "$header" | cmp -s - "$header" || {
        echo "$header is not what make exercises cuts"
        status=1
    }
done
exit $status
