# The whole interface of the course. `make` alone prints it.
#
# Students need: make grade, hint, watch, debug, profile, trace, bench, tune, plots, doctor, reset, update.
# Everything that is built goes to build/. Besides, copies of your work go to saved/; on a GPU make bench and tune
# record the course's own figures in plots/data/, and make tune writes lessons/NN_name/tiles.h; make plots draws the
# recorded figures in plots/svg/.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

CC       = gcc
CXX      = g++
CFLAGS   = -O2 -g
CPPFLAGS =
LDFLAGS  =
# Objects that are equal in every folder: what they are made of tells the programs in build/cache apart.
STRICT   = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -ffile-prefix-map='$(CURDIR)'=.
# Debian and Ubuntu have Check as a static library only, others as a shared one.
CHECKLIB = $(if $(filter /%,$(shell $(CC) $(LDFLAGS) -print-file-name=libcheck_pic.a)),-lcheck_pic -lsubunit,-lcheck)
LIBS     = -pthread $(CHECKLIB) -lrt -ljansson -lmd -lm
CUDA     = $(patsubst %/bin/,%,$(dir $(realpath $(firstword $(wildcard \
             $(addsuffix /nvcc,$(subst :, ,$(PATH))) /usr/local/cuda/bin/nvcc)))))
ROOMS    = check wall report formula attention matmul

# LESSON=all is what no LESSON at all is.
override LESSON := $(filter-out all,$(LESSON))
LESSONS := $(sort $(patsubst grader/%/check.c,%,$(wildcard grader/*/check.c)))
# LESSON=12, 1, flash_forward or 12_flash_forward: the lessons it can mean.
MATCH   := $(if $(LESSON),$(filter $(LESSON) $(LESSON)_% 0$(LESSON)_% %_$(LESSON),$(LESSONS)))
# %_forward would also match part of a name: keep what is the whole name after the number.
NAME    := $(strip $(foreach l,$(MATCH),$(if $(or $(filter $(LESSON) $(LESSON)_% 0$(LESSON)_%,$(l)),\
             $(filter $(LESSON),$(shell echo $(l) | cut -d_ -f2-))),$(l))))
export FILE FROM DEVICE SEED CASE FORMAT ISOLATION
export DATA PNG GPU SUBMISSIONS ROSTER SECRET JOBS OUT ENGINE STUDENT ITEM REPLAY GRES

help:
	@sh grader/make/help.sh $(LESSONS)

# ---- what is built once

# bench.c of a room is linked into the benches of its lessons, below.
OBJECTS = $(patsubst %.c,build/%.o,$(filter-out %/bench.c,$(foreach r,$(ROOMS),$(wildcard grader/$(r)/*.c))))
CPU     = $(patsubst %.c,build/%.o,$(wildcard grader/cpu/device/*.c grader/cpu/watch/*.c))
REWRITE = $(patsubst %.c,build/%.o,$(wildcard grader/cpu/rewrite/*.c))
RUN     = $(notdir $(wildcard grader/run/*.c))
CHECKS  = $(LESSONS:%=build/grader/%/check)
# A lesson without a call.c has no kernel.
KERNELS = $(patsubst grader/%/call.c,%,$(wildcard grader/*/call.c))
CALLS   = $(KERNELS:%=build/grader/%/call-cpu.o) $(if $(CUDA),$(KERNELS:%=build/grader/%/call-cuda.o))
TOOLS   = $(CHECKS) $(CALLS) build/libcpu.a build/cpu/rewrite build/cpu/librun.a \
          build/cpu/run/border.o \
          $(if $(CUDA),build/cuda/librun.a)

tools: $(TOOLS)

build/grader/cpu/%.o: grader/cpu/%.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -MMD -MP -Igrader -c $< -o $@

build/%.o: %.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) $(CPPFLAGS) -MMD -MP -Igrader -Ilessons -Ilessons/$(notdir $(patsubst %/,%,$(dir $<))) -c $< -o $@

build/libgrader.a: $(OBJECTS)
build/libcpu.a: $(CPU)
build/cpu/librun.a: $(RUN:%.c=build/cpu/run/%.o) build/cpu/run/calls.o
build/cuda/librun.a: $(RUN:%.c=build/cuda/run/%.o)
%.a:
	@mkdir -p $(@D)
	@rm -f $@ && ar qcs $@ $^

build/cpu/rewrite: $(REWRITE)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -static $^ -o $@

build/cpu/run/%.o: grader/run/%.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -DCPU_DEVICE -MMD -MP -Igrader -Ilessons -Igrader/cpu/include -c $< -o $@
build/cpu/run/%.o: grader/run/%.S
	@mkdir -p $(@D)
	@$(CC) -c $< -o $@
build/cuda/run/%.o: grader/run/%.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -MMD -MP -Igrader -Ilessons -isystem $(CUDA)/include -c $< -o $@

build/grader/%/call-cpu.o: grader/%/call.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -MMD -MP -Igrader -Ilessons -Ilessons/$* -Igrader/cpu/include -c $< -o $@
build/grader/%/call-cuda.o: grader/%/call.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -MMD -MP -Igrader -Ilessons -Ilessons/$* -isystem $(CUDA)/include -c $< -o $@

# check.c, and forward.c where a lesson has two passes with items of their own.
.SECONDEXPANSION:
build/grader/%/check: build/grader/%/check.o $$(patsubst forward.c,build/grader/$$*/forward.o,$$(notdir $$(wildcard grader/$$*/forward.c))) build/libgrader.a
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# ---- the bench, where there is nvcc

# The same objects make the program and, for grader/bench/peers.py, a library.
BENCH = $(patsubst %,build/bench/%.o,timing arrays ceiling clocks device dtype)

build/bench/%.o: grader/bench/%.c Makefile
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -fPIC -MMD -MP -Igrader -Ilessons -isystem $(CUDA)/include -c $< -o $@
build/bench/dtype.o: grader/check/dtype.c Makefile
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -fPIC -MMD -MP -Igrader -c $< -o $@
build/bench/device.o: grader/bench/device.cu Makefile
	@mkdir -p $(@D)
	@$(CUDA)/bin/nvcc -O3 -std=c++17 -gencode arch=compute_80,code=compute_80 -Xcompiler -fPIC -Igrader -c $< -o $@
build/grader/%/bench.o: grader/%/bench.c Makefile
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) -fPIC -MMD -MP -Igrader -Ilessons -Ilessons/$* -isystem $(CUDA)/include -c $< -o $@
build/libbench.a: $(patsubst %.c,build/%.o,$(wildcard $(ROOMS:%=grader/%/bench.c)))
build/grader/%/bench: build/bench/main.o build/grader/%/bench.o build/libbench.a $(BENCH)
	@$(CUDA)/bin/nvcc $^ -lcublas -ldl -lm -o $@
build/grader/%/bench.so: build/grader/%/bench.o build/libbench.a $(BENCH)
	@$(CUDA)/bin/nvcc -shared $^ -lcublas -ldl -lm -o $@

-include $(shell find build -name '*.d' 2>/dev/null)

# The student edition has no solutions, which these need.
exercises texts slides new wrong test mutate-grader test-gpu test-cpu test-aarch64 proof bench-cpu handout gradescope: whole
whole:
	@. grader/make/file.sh; need_solutions

# ---- students

# Two grades at once must not build the same file at once: one at a time holds the lock.
ready:
	@sh grader/make/ready.sh
	@flock build/.lock $(MAKE) -s --no-print-directory -j$$(nproc) tools

lesson:
	@sh grader/make/lesson.sh "$(LESSON)" "$(NAME)" $(LESSONS)

grade: $(if $(LESSON),lesson) ready
	@sh grader/make/grade.sh $(or $(NAME),$(LESSONS)) || { status=$$?; \
		if [ $$status = 1 ] && [ -t 2 ]; then echo "(make's next line says only that the score is not full.)" >&2; fi; \
		exit $$status; }

hint: lesson
	@sh grader/make/hint.sh $(NAME)

watch: lesson ready
	@sh grader/make/watch.sh $(NAME)

debug: lesson ready
	@sh grader/make/debug.sh $(NAME)

profile: lesson ready
	@sh grader/make/profile.sh $(NAME)

build/grader/trace/main.o: grader/trace/main.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) $(CPPFLAGS) -MMD -MP -Igrader -Ilessons -Igrader/cpu/include -c $< -o $@
trace: lesson ready
	@flock build/.lock $(MAKE) -s --no-print-directory build/grader/trace/main.o \
		$(patsubst %.c,build/%.o,$(wildcard grader/$(NAME)/trace.c))
	@sh grader/make/trace.sh $(NAME)

bench: $(if $(LESSON),lesson)
	@sh grader/make/bench.sh $(or $(NAME),$(patsubst grader/%/bench.c,%,$(wildcard grader/*/bench.c)))

tune: lesson
	@sh grader/make/tune.sh $(NAME)

# DATA=traffic counts on the CPU device first.
plots: $(if $(DATA),ready)
	@sh grader/make/plots.sh

doctor:
	@sh grader/make/doctor.sh

reset: lesson
	@sh grader/make/reset.sh $(NAME)

update:
	@sh grader/make/update.sh $(LESSONS)

# ---- instructors

CLASS = $(patsubst %.c,build/%.o,$(wildcard grader/class/*.c))

build/grader/class/%.o: grader/class/%.c
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) $(CPPFLAGS) -MMD -MP -Igrader -I/usr/include/libxml2 -c $< -o $@
build/class: $(CLASS) build/libgrader.a
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -larchive -lcsv -lxml2 -o $@

class: ready
	@LESSON='$(LESSON)' sh grader/make/class.sh $(LESSONS)

handout:
	@sh grader/make/handout.sh

gradescope: lesson
	@sh grader/make/gradescope.sh $(NAME)

# ---- authors

exercises:
	@sh grader/make/exercises.sh $(LESSONS)

new:
	@sh grader/make/new.sh '$(LESSON)' '$(NAME)'

texts: ready
	@sh grader/make/texts.sh $(LESSONS)

build/doctor: build/grader/make/doctor.o build/libgrader.a
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# DECK=5: only that deck.
slides:
	@sh grader/make/slides.sh $(or $(wildcard $(DECK:%=slides/%_*.md) $(DECK:%=slides/0%_*.md)),$(if $(DECK),slides/$(DECK).md,$(wildcard slides/[0-9]*.md)))

# SAVE=name|all: writes the patch again, from build/wrong/NN_name/name.cu if that was edited.
wrong: lesson
	@$(if $(SAVE),sh grader/test/wrong.sh save $(NAME) $(SAVE),sh grader/test/wrong.sh list $(NAME))

# Room for all kernels of the course in the cache of programs.
test: export COURSE_CACHE_MB ?= 6144
test: $(if $(LESSON),lesson) ready build/doctor
	@sh grader/test/all.sh $(or $(NAME),$(LESSONS))

mutate-grader: $(if $(LESSON),lesson) ready
	@sh grader/test/mutate.sh $(or $(NAME),$(LESSONS))

test-gpu: $(if $(LESSON),lesson) ready build/doctor
	@sh grader/test/gpu.sh $(or $(NAME),$(LESSONS))

test-cpu: ready
	@sh grader/cpu/test/run.sh build

test-aarch64: ready
	@sh grader/cpu/test/aarch64.sh build

proof:
	@sh grader/cpu/test/hardware/proof.sh summary

bench-cpu: ready
	@sh grader/cpu/bench/run.sh build

format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build

.PHONY: help tools ready whole lesson grade hint watch debug profile trace bench tune plots doctor reset update exercises class handout gradescope new \
        texts slides wrong test mutate-grader test-gpu test-cpu test-aarch64 proof bench-cpu format clean
.SECONDARY:
