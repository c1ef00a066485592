# style.gp: how every plot looks. gnuplot reads it after the figures (which set out, height, title
# and subtitle) and before the script that draws.
#
# A plot is 960 wide and has no letter below 16: as large as a slide it can be read from the last
# row. The colours are those of Okabe and Ito, which the colour-blind can tell apart; nothing
# depends on them: lines differ in dashes and points, bars in filling, and each has its name beside
# it.

width = 960.0

BLACK = "#000000"
DARK = "#555555"
LIGHT = "#BBBBBB"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

# cairo counts letters in points, of which three are four pixels.
if (out[strlen(out) - 3:] eq ".png") {
    pixel = 0.75
    set terminal pngcairo size width, height font sprintf("Arial,%g", 16 * pixel) background "#FFFFFF"
} else {
    pixel = 1
    set terminal svg size width, height font "Arial,16" background "#FFFFFF"
}
set termoption noenhanced
set output out
set encoding utf8

set border 3 linecolor rgb DARK
set tics nomirror out scale 0.5
set style fill solid noborder
set datafile separator tab
unset key

across(x) = x / width
up(y) = 1.0 * y / height
set label 1 (exists("heading") ? heading : title) at screen across(16), up(height - 24) font sprintf(",%g", 21 * pixel)
set label 2 subtitle at screen across(16), up(height - 50) textcolor rgb DARK
set tmargin at screen up(height - 76)
set bmargin at screen up(68)

# What stands for a version in every plot: look(name) is its place in the arrays. Thick, solid lines
# and filled points are the course's and yours, crosses are steps, open points others'; the last is
# for all that are new.
is(name, text) = strstrt(name, text) == 1
look(name) = is(name, "solution") ? 1 : is(name, "yours") ? 2 : name[2:2] eq "_" ? 3 + (int(name[1:1]) - 1) % 3 : \
    is(name, "FlashAttention-2") ? 6 : is(name, "SDPA cuDNN") ? 7 : is(name, "SDPA efficient") ? 8 : is(name, "SDPA math") ? 9 : \
    is(name, "Triton split") ? 11 : is(name, "Triton") ? 10 : 12
array colour[12] = [BLUE, VERMILLION, BLACK, BLACK, BLACK, ORANGE, GREEN, SKY, DARK, PURPLE, PURPLE, ORANGE]
array dashes[12] = [1, 1, 3, 3, 3, 2, 5, 4, 3, 1, 2, 4]
array thick[12] = [3.5, 3.5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
array shape[12] = [7, 5, 1, 2, 3, 4, 8, 6, 14, 12, 10, 13]
