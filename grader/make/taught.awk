# taught.awk: renews a teaching header of lessons/, of which parts are cut from solutions. Below a
# line
#     // ---- from solutions/NN_name/name.cu -----
# stands the section of that file whose title names the header,
#     // ---- the stages of a tile (flash_tile.h) -----
# up to the next title, without the marks of its gaps and what is given in them. Below a line
#     // ---- from lessons/NN_name/tiles.h, as NAME -----
# stand the tiles of that file, NAME_64 for TILES_64. The last line is the header's #endif.
# A file without such a section is an error: exit 1.
# usage: awk -f taught.awk lessons/flash_tile.h

function take(file,    line, last, on, found, given) {
    last = "title"
    while ((getline line < file) > 0) {
        if (line ~ /^\/\/ ---- /) {
            on = index(line, "(" name ")") > 0
            found += on
        } else if (line ~ /^ *\/\/ AS GIVEN$/) {
            given = 1
        } else if (line ~ /^ *\/\/ END SOLUTION/) {
            given = 0
        } else if (on && !given && line !~ /^ *\/\/ BEGIN SOLUTION/) {
            if (line != "" || last != "") print line # one empty line between two sections
            last = line
        }
    }
    close(file)
    if (!found) {
        print file ": no section whose title names (" name ")" > "/dev/stderr"
        exit 1
    }
}

# The tiles of a tiles.h under other names, without what is said of that lesson's kernel.
function take_tiles(file, as,    line) {
    while ((getline line < file) > 0) {
        if (line !~ /^#define TILES_[0-9]/) continue
        sub(/TILES_/, as "_", line)
        sub(/ *\/\/.*/, "", line)
        print line
    }
    close(file)
}

FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
}
/^\/\/ ---- from / {
    print
    if ($5 == "as") take_tiles(substr($4, 1, length($4) - 1), $6)
    else take($4)
    cut = 1
    next
}
/^#endif|^\/\/ clang-format on/ { cut = 0 }
!cut { print }
