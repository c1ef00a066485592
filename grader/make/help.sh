#!/bin/sh
# help.sh: what `make` alone prints: the commands, the lessons, and how far you are.
# usage: help.sh LESSON...
cat <<'TEXT'
make grade LESSON=12          grade your kernel (also LESSON=flash_forward; no LESSON: all of them)
     FILE=any.cu              ... another file      FROM=solutions   ... the course's own
     DEVICE=cpu|cuda          ... where             SEED=n           ... the same data again
     CASE=text                ... only the items whose name contains it
     CARD=rtx4090             ... on the CPU, with this card's limits (make doctor)
     FORMAT=json              ... for programs      FORMAT=problems  ... and for editors
     ISOLATION=name           ... in another sandbox
make hint LESSON=12           the next hint, for what the last grade found
make watch LESSON=12          grade again whenever you save
make debug LESSON=12 CASE=x   one case under gdb, printf of the kernel shown
make profile LESSON=05        the kernel's memory traffic, line by line (FORMAT=csv, json)
make trace LESSON=12          what the solution's kernel holds after each tile, as JSON
make torch LESSON=16          the kernel as an operation of PyTorch, checked (sh setup.sh --torch)
make bench LESSON=05|all      how fast it is on this GPU, beside the steps and the libraries
make train                    a language model on your kernels (MODEL=tiny|small|124m STEPS= WARM= SEED= GPUS=)
make tune LESSON=14           the tile sizes that are fastest on this GPU
make run FILE=x.cu ARGS='1 2' any .cu on the CPU device (WATCH=check, profile: watched)
make install-cpu PREFIX=dir   the CPU device on its own: cudev, headers, library, manual
make plots                    draws your bench over the recorded ones, in build/plots/ (PNG=1: also as PNG)
make doctor                   what this machine can grade, and how to mend what it cannot
make reset LESSON=12          the untouched exercise again; yours is saved first
make update                   the course's new version; your work is kept
make book                     the texts as a book for your browser, with a search (PDF=1: printed)
make editor                   what clangd reads, so that editors complete and check .cu files

TEXT
# In the student edition there is nothing else.
[ ! -d solutions ] || cat <<'TEXT'
make class SUBMISSIONS=folder LESSON=17,19   grade a class (lessons/INSTRUCTORS.md)
make handout OUT=folder       the student edition, without solutions
     GRADED=17,19             ... and without what gives graded homework away (also: make slides)
make gradescope LESSON=17     an autograder for Gradescope

make exercises                cut the stubs from the solutions (authors)
make new LESSON=40 NAME=word  a whole small lesson to begin another with (authors)
make texts                    the output shown in the lessons' texts, made again (authors)
make slides                   the study group's decks, as HTML and PDF (DECK=5: one of them)
make wrong LESSON=05          the kernels that must fail, in build/wrong/ (authors)
make test [LESSON=12]         everything the course checks about itself
make soak [LESSON=12]         the kernels on many fresh seeds; goes on where it stopped
make test-gpu [LESSON=12]     every kernel on a GPU, as a table
make fuzz                     inputs that libFuzzer makes, for all that reads strangers' files
make analyze, coverage        static analysis; the lines that no test reaches
make mutate-grader            is every graded item needed?
make mutants LESSON=05        slips of one token in the solution: which get 100?
make proof                    the CPU device's counters and findings beside the hardware's
make test-torch               the operations of PyTorch (after sh setup.sh --torch)
make test-cpu, test-aarch64   the CPU device alone; emulated on aarch64
make bench-cpu                how fast the CPU device is
make format                   clang-format over all sources

TEXT
build=build${BUILD:+/$BUILD}
for lesson; do
    graded=
    [ ! -e "build/results/$lesson.json" ] ||
        graded=$("$build/grader/$lesson/check" last "build/results/$lesson.json" 2>/dev/null | sed 's| |/|; q')
    printf '  %-26s %s\n' "$lesson" "$graded"
done
echo
echo "Start with lessons/README.md; a lesson is lessons/NN_name/README.md."
