# The whole interface of the course. `make` alone prints it.
#
# Students need: make grade, hint, watch, debug, profile, trace, torch, bench, tune, plots,
# doctor, reset, update. Everything that is built goes to build/. Besides, copies of your work go
# to saved/; on a GPU make bench and tune record the course's own figures in plots/data/, and make
# tune writes lessons/NN_name/tiles.h; make plots draws the recorded figures in plots/svg/.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

# What is built lies in $(B): build/, or with BUILD=debug build/debug, where the sanitizers watch
# the grader. BUILD=coverage, fuzz and analyze are what make coverage, fuzz and analyze build.
B        = build$(BUILD:%=/%)
$(if $(filter-out debug coverage fuzz analyze,$(BUILD)),\
  $(error BUILD=$(BUILD): debug, coverage, fuzz or analyze))

CC       = $(if $(filter fuzz,$(BUILD)),clang,gcc)
CXX      = g++
# A debug build runs for less time than it is compiled.
CFLAGS   = $(if $(BUILD),$(if $(filter debug,$(BUILD)),-O0,-Og),-O2) -g
CPPFLAGS =
LDFLAGS  =
STRICT   = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror
# Debian and Ubuntu have Check as a static library only, others as a shared one.
CHECKLIB = $(if $(filter /%,$(shell $(CC) $(LDFLAGS) -print-file-name=libcheck_pic.a)),-lcheck_pic -lsubunit,-lcheck)
LIBS     = -pthread $(CHECKLIB) -lrt -ljansson -lmd -lm
CUDA     = $(patsubst %/bin/,%,$(dir $(realpath $(firstword $(wildcard \
             $(addsuffix /nvcc,$(subst :, ,$(PATH))) /usr/local/cuda/bin/nvcc)))))
# The folders that make up libgrader.a.
ROOMS    = base check wall report formula attention matmul rows cpu/cards

# Typos are told, not passed over: variables of the command line that nobody reads, a lesson's
# number without LESSON=.
ASKED = $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v))
EMPTY = $(if $(filter command,$(firstword $(origin LESSON))),$(if $(strip $(LESSON)),,yes))
TYPO := $(shell sh grader/make/typos.sh '$(MAKECMDGOALS)' '$(ASKED)' '$(EMPTY)')
$(if $(TYPO),$(error $(TYPO)))

# LESSON=all is what no LESSON at all is.
override LESSON := $(filter-out all,$(LESSON))
LESSONS := $(sort $(patsubst grader/%/check.c,%,$(wildcard grader/*/check.c)))
# LESSON=12, 1, flash_forward or 12_flash_forward: the lessons it can mean.
MATCH   := $(if $(LESSON),$(filter $(LESSON) $(LESSON)_% 0$(LESSON)_% %_$(LESSON),$(LESSONS)))
# %_forward would also match part of a name: keep what is the whole name after the number.
NAME    := $(strip $(foreach l,$(MATCH),$(if $(or $(filter $(LESSON) $(LESSON)_% 0$(LESSON)_%,$(l)),\
             $(filter $(LESSON),$(shell echo $(l) | cut -d_ -f2-))),$(l))))
export BUILD FILE FROM DEVICE CARD SEED CASE FORMAT ISOLATION
export ARGS WATCH FLAGS IN PREFIX
export PDF MODEL STEPS WARM GPUS NCCL DATA PNG GPU SUBMISSIONS ROSTER SECRET JOBS OUT ENGINE STUDENT ITEM REPLAY GRES LAYOUT DRY GRADED

help:
	@sh grader/make/help.sh $(LESSONS)

# ---- what is built once

# grader/x.c becomes x.o for the grader; x-cpu.o and x-cuda.o beside the student's code, on the CPU
# device or on CUDA; x-bench.o for the bench. FLAGS is what a kind of object or a folder needs
# besides.
SANITIZE_debug    = -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_fuzz     = $(SANITIZE_debug) -fsanitize=fuzzer-no-link
SANITIZE_coverage = --coverage -Wl,--wrap=_exit,-u,__wrap__exit
# gcc follows every way through a function. It is not asked for leaks: it loses sight of pointers in
# arrays of structs, and with BUILD=debug those that happen are found.
SANITIZE_analyze  = -fanalyzer -Wno-analyzer-malloc-leak
SANITIZE = $(SANITIZE_$(BUILD))
# What runs behind the wall is linked statically and has little memory: there undefined behaviour is
# a trap.
TRAP_debug = -fsanitize=undefined -fsanitize-undefined-trap-on-error -DSANITIZED
TRAP_fuzz  = $(SANITIZE_fuzz)
TRAP_analyze = $(SANITIZE_analyze)
INCLUDE  = -Igrader -Ilessons -Ilessons/$(notdir $(<D))
# Objects are equal in every clone: what they are made of tells the programs in build/cache apart.
PLACE    = -ffile-prefix-map='$(CURDIR)'=. -DBUILD_FOLDER='"$(B)"'
define compile
	@mkdir -p $(@D)
	@$(CC) $(STRICT) $(CFLAGS) $(SANITIZE) $(CPPFLAGS) $(PLACE) -MMD -MP $(INCLUDE) $(FLAGS) -c $< -o $@
endef

$(B)/grader/%.o: grader/%.c $(B)/grader/flags
	$(compile)
$(B)/grader/%-cpu.o: grader/%.c $(B)/grader/flags
	$(compile)
$(B)/grader/%-cpu.o: grader/%.S $(B)/grader/flags
	$(compile)
# The gates of the runtime's functions are made from the headers that declare these.
GATES = grader/run/gate_calls.awk grader/cpu/include/cuda_runtime_api.h grader/cpu/include/cudev/abi.h
$(B)/grader/run/gate_calls.c: $(GATES)
	@mkdir -p $(@D)
	@awk -f $(GATES) >$@
$(B)/grader/run/gated-cuda: $(GATES)
	@mkdir -p $(@D)
	@awk -v names=1 -f $(GATES) >$@
$(B)/grader/run/gate_calls-cpu.o: $(B)/grader/run/gate_calls.c $(B)/grader/flags
	$(compile)
$(B)/grader/%-cuda.o: grader/%.c $(B)/grader/flags
	$(compile)
$(B)/grader/%-bench.o: grader/%.c $(B)/grader/flags
	$(compile)
$(B)/grader/%-library.o: grader/%.c $(B)/grader/flags
	$(compile)

$(B)/grader/%-cpu.o:   SANITIZE = $(TRAP_$(BUILD))
$(B)/grader/%-cpu.o:   FLAGS = -DCPU_DEVICE -Igrader/cpu/include
$(B)/grader/%-cuda.o:  FLAGS = -isystem $(CUDA)/include
$(B)/grader/%-bench.o: FLAGS = -isystem $(CUDA)/include -fPIC
$(B)/grader/%-library.o: FLAGS = $(if $(CUDA),-isystem $(CUDA)/include) -fPIC
$(B)/grader/cpu/%.o:   SANITIZE = $(TRAP_$(BUILD))
$(B)/grader/cpu/%.o:   INCLUDE = -Igrader
$(B)/grader/cpu/any/%.o: INCLUDE = -Igrader -Igrader/cpu/include
$(B)/grader/class/%.o: FLAGS = -I/usr/include/libxml2
build/fuzz/grader/cpu/rewrite/%.o: FLAGS = -Dmain=rewrite_main -Dexit=rewrite_exit
build/fuzz/grader/test/fuzz/%.o: SANITIZE = $(SANITIZE_debug)

# Where gcc's analysis errs. jobs.c: class_read() does not return the text of its caller. table.c:
# the function has returned where text is NULL. async_copies.c: the queue keeps what realloc() gave.
# matrix.c: the vectors are written element by element.
# variables.c: a #define has a token. request.c: a bit of `busy` and a count say what word[] holds.
build/analyze/grader/class/jobs.o: FLAGS += -Wno-analyzer-double-free
build/analyze/grader/class/table.o: FLAGS += -Wno-analyzer-possible-null-argument
build/analyze/grader/cpu/device/async_copies.o: FLAGS += -Wno-analyzer-malloc-leak
build/analyze/grader/cpu/device/matrix.o: FLAGS += -Wno-analyzer-use-of-uninitialized-value
build/analyze/grader/cpu/rewrite/variables.o: FLAGS += -Wno-analyzer-null-dereference
build/analyze/grader/cpu/watch/request.o: FLAGS += -Wno-analyzer-use-of-uninitialized-value

# Written when the flags are others than the last time; every object is older then.
CHOSEN = $(CC) $(STRICT) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS)
$(B)/grader/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CHOSEN)' | cmp -s - $@ || echo '$(CHOSEN)' >$@
FORCE:

# objects FOLDER...: of all their sources, but for the bench.c that several lessons share.
objects = $(patsubst %.c,$(B)/%.o,$(filter-out $(ROOMS:%=grader/%/bench.c),$(foreach folder,$(1),$(wildcard grader/$(folder)/*.c))))
REWRITE = $(call objects,cpu/rewrite)
RUN     = $(call objects,run)
CHECKS  = $(LESSONS:%=$(B)/grader/%/check)
# A lesson without a call.c has no kernel.
KERNELS = $(patsubst grader/%/call.c,%,$(wildcard grader/*/call.c))
# What a check compiles and links a submission with.
WITH    = $(addprefix $(B)/,libcpu.a cpu/rewrite cpu/librun.a) $(addprefix $(B)/grader/run/,front-cpu.o border-cpu.o gated-cuda)
TOOLS   = $(CHECKS) $(KERNELS:%=$(B)/grader/%/call-cpu.o) $(WITH) $(B)/cpu/libcudev.a $(LESSONS:%=$(B)/grader/%/sources) \
          $(if $(CUDA),$(KERNELS:%=$(B)/grader/%/call-cuda.o) $(B)/cuda/librun.a)

tools: $(TOOLS)

$(B)/libgrader.a: $(call objects,$(ROOMS)) $(if $(filter coverage,$(BUILD)),$(B)/grader/test/counted.o)
$(B)/libcpu.a: $(call objects,cpu/cards cpu/device cpu/watch)
$(B)/cpu/libcudev.a: $(call objects,cpu/cards cpu/device cpu/watch cpu/any)
$(B)/cpu/librun.a: $(RUN:%.o=%-cpu.o) $(B)/grader/run/calls-cpu.o $(B)/grader/run/gate_calls-cpu.o
$(B)/cuda/librun.a: $(RUN:%.o=%-cuda.o)
%.a:
	@mkdir -p $(@D)
	@rm -f $@ && ar qcs $@ $^

define link
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LIBS) -o $@
endef
$(B)/cpu/rewrite: private SANITIZE =
$(B)/cpu/rewrite: private LIBS = -static
$(B)/cpu/rewrite: $(REWRITE)
	$(link)
# A check reads its list of sources. The list is made first: a header may be gone since. Whoever
# makes a check alone must not run it with an older device.
$(CHECKS): %/check: %/check.o $(B)/libgrader.a | %/sources $(WITH)
	$(link)

# Which sources decide a grade: those of the check, and what runs the kernel.
DEVICE_OBJECTS = $(REWRITE) $(call objects,cpu/cards cpu/device cpu/watch) $(RUN:%.o=%-cpu.o) $(addprefix $(B)/grader/run/,calls-cpu.o gate_calls-cpu.o)
$(KERNELS:%=$(B)/grader/%/sources): %/sources: %/call-cpu.o $(DEVICE_OBJECTS)
$(LESSONS:%=$(B)/grader/%/sources): %/sources: %/check.o $(B)/libgrader.a grader/make/sources.awk
	@awk -f grader/make/sources.awk \
		$(patsubst %.o,%.d,$(filter %.o,$^)) rooms=1 $(patsubst %.o,%.d,$(call objects,$(ROOMS))) | LC_ALL=C sort >$@

# ---- the bench, where there is nvcc

# The same objects make the program and, for grader/bench/peers.py, a library.
BENCH = $(patsubst %,$(B)/grader/%-bench.o,bench/timing bench/arrays bench/ceiling bench/clocks bench/device \
          base/dtype)

$(B)/grader/bench/device-bench.o: grader/bench/device.cu Makefile
	@mkdir -p $(@D)
	@$(CUDA)/bin/nvcc -O3 -std=c++17 -gencode arch=compute_80,code=compute_80 -Xcompiler -fPIC -Igrader -c $< -o $@
$(B)/libbench.a: $(patsubst %.c,$(B)/%-bench.o,$(wildcard $(ROOMS:%=grader/%/bench.c)))
$(B)/grader/%/bench: $(B)/grader/bench/main-bench.o $(B)/grader/%/bench-bench.o $(B)/libbench.a $(BENCH)
	@$(CUDA)/bin/nvcc $^ -lcublas -ldl -lm -o $@
$(B)/grader/%/bench.so: $(B)/grader/%/bench-bench.o $(B)/libbench.a $(BENCH)
	@$(CUDA)/bin/nvcc -shared $^ -lcublas -ldl -lm -o $@

# ---- a kernel as a library, for PyTorch: grader/make/torch.sh links it with these

LIBRARY = $(patsubst %,$(B)/grader/%,library/spawn-library.o library/program-cpu.o library/arguments-cpu.o \
          $(if $(CUDA),library/gpu-library.o library/arguments-library.o))
library: lesson tools $(LIBRARY) $(if $(CUDA),$(NAME:%=$(B)/grader/%/call-library.o))

-include $(shell find $(B)/grader -name '*.d' 2>/dev/null)

# The student edition has no solutions, which these need.
exercises texts slides new wrong test soak mutate-grader mutants test-gpu test-torch test-cpu test-aarch64 proof bench-cpu handout gradescope: whole
whole:
	@. grader/make/file.sh; need_solutions

# ---- any .cu, also one that is no lesson's

RUN_ANY = $(B)/cpu/rewrite $(B)/cpu/libcudev.a
run: export CUDEV_BUILD = $(B)
run:
	@sh grader/make/ready.sh any
	@flock build/.lock $(MAKE) -s --no-print-directory $(RUN_ANY)
	@sh grader/make/run.sh

install-cpu:
	@sh grader/make/ready.sh any
	@flock build/.lock $(MAKE) -s --no-print-directory $(RUN_ANY)
	@sh grader/make/install_cpu.sh $(B) '$(PREFIX)'

# ---- students

# Two grades at once must not build the same file at once: one at a time holds the lock.
ready:
	@sh grader/make/ready.sh
	@flock build/.lock $(MAKE) -s --no-print-directory -j$$(nproc) tools
	@sh grader/make/editor.sh stale

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

$(B)/grader/trace/main.o: FLAGS = -Igrader/cpu/include
trace: lesson ready
	@flock build/.lock $(MAKE) -s --no-print-directory $(B)/grader/trace/main.o \
		$(patsubst %.c,$(B)/%.o,$(wildcard grader/$(NAME)/trace.c))
	@sh grader/make/trace.sh $(NAME)

torch: lesson ready
	@sh grader/make/torch.sh $(NAME)

bench: $(if $(LESSON),lesson)
	@sh grader/make/bench.sh $(or $(NAME),$(patsubst grader/%/bench.c,%,$(wildcard grader/*/bench.c)))

# The program is linked by train.sh; these are its parts in C.
TRAIN = $(filter-out %/standing %/nccl_cpu,$(patsubst %.c,$(B)/%,$(wildcard grader/train/*.c)))
$(TRAIN:=-cpu.o): SANITIZE = $(SANITIZE_$(BUILD))
$(TRAIN:=-cpu.o) $(TRAIN:=-cuda.o): INCLUDE = -Igrader -Ilessons $(LESSONS:%=-Ilessons/%)
$(B)/train/standing: $(B)/grader/train/standing.o $(B)/libgrader.a
	$(link)
# In NCCL's place on the CPU device: a library that the program loads.
$(B)/train/libnccl-cpu.so: $(B)/grader/train/nccl_cpu-cpu.o
	@mkdir -p $(@D)
	@$(CC) -shared $^ -o $@
$(B)/grader/train/nccl_cpu-cpu.o: FLAGS += -fPIC
trainers: $(B)/train/standing $(B)/train/libnccl-cpu.so $(B)/libcpu.a $(B)/cpu/rewrite $(TRAIN:=-cpu.o) $(if $(CUDA),$(TRAIN:=-cuda.o))
train:
	@sh grader/make/ready.sh
	@flock build/.lock $(MAKE) -s --no-print-directory -j$$(nproc) trainers
	@sh grader/make/train.sh

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
	@sh grader/make/update.sh

# What clangd, the help of many editors, reads: build/compile_commands.json.
editor:
	@sh grader/make/editor.sh

# ---- instructors

CLASSLIBS = -larchive -lcsv -lyaml -licuuc -lxml2 -lresolv
$(B)/class: private LIBS += $(CLASSLIBS)
$(B)/libclass.a: $(filter-out %/main.o,$(call objects,class))
$(B)/class: $(B)/grader/class/main.o $(B)/libclass.a $(B)/libgrader.a
	$(link)

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

texts: $(if $(LESSON),lesson) ready
	@sh grader/make/texts.sh $(if $(LESSON),$(NAME),$(LESSONS))

$(B)/doctor: $(B)/grader/make/doctor.o $(B)/libgrader.a
	$(link)

# DECK=5: only that deck.
slides:
	@sh grader/make/slides.sh $(or $(wildcard $(DECK:%=slides/%_*.md) $(DECK:%=slides/0%_*.md)),$(if $(DECK),slides/$(DECK).md,$(wildcard slides/[0-9]*.md)))

# The lessons as a book; with PDF=1 also printed, with LESSON= that one alone.
book: $(if $(LESSON),lesson)
	@sh grader/make/book.sh $(if $(LESSON),$(NAME))

# SAVE=name|all: writes the patch again, from build/wrong/NN_name/name.cu if that was edited.
wrong: lesson
	@$(if $(SAVE),sh grader/test/wrong.sh save $(NAME) $(SAVE),sh grader/test/wrong.sh list $(NAME))

# Room for all kernels of the course in the cache of programs.
test: export COURSE_CACHE_MB ?= 6144
test: $(if $(LESSON),lesson) ready $(B)/doctor
	@sh grader/test/all.sh $(or $(NAME),$(LESSONS))

# The kernels on as many fresh seeds as they must have seen: hours, unless most were run before.
soak: export COURSE_CACHE_MB ?= 6144
soak: $(if $(LESSON),lesson) ready $(B)/doctor
	@SOAK=1 sh grader/test/all.sh -k $(or $(NAME),$(LESSONS))

# A program of each unit test; grader/test/unit.sh runs them, built with the sanitizers, with the
# part of the grader that is about no lesson: the rest is not compiled for them.
UNITS = $(patsubst grader/%.c,$(B)/%,$(wildcard grader/test/unit/*.c))
$(B)/libunits.a: $(call objects,base check wall report formula cpu/cards) $(if $(filter coverage,$(BUILD)),$(B)/grader/test/counted.o)
$(B)/test/unit/%: private LIBS += $(CLASSLIBS)
$(B)/test/unit/%: $(B)/grader/test/unit/%.o $(B)/libclass.a $(B)/libunits.a
	$(link)
units: $(UNITS)

# A program of each part that reads what strangers wrote; grader/test/fuzz.sh feeds them.
FUZZERS = $(patsubst grader/%.c,build/fuzz/%,$(wildcard grader/test/fuzz/*.c))
build/fuzz/test/fuzz/%: private LIBS += -fsanitize=fuzzer $(CLASSLIBS)
build/fuzz/test/fuzz/rewrite: $(REWRITE)
build/fuzz/libread.a: $(call objects,base wall report formula) build/fuzz/grader/check/edits.o
build/fuzz/test/fuzz/%: build/fuzz/grader/test/fuzz/%.o build/fuzz/libclass.a build/fuzz/libread.a
	$(link)
fuzzers: $(FUZZERS)
fuzz:
	@sh grader/test/fuzz.sh

# All C that is compiled without CUDA.
analyzed: $(call objects,$(ROOMS) cpu/rewrite cpu/device cpu/watch cpu/any class) $(CHECKS:%=%.o)
analyze:
	@sh grader/test/analyze.sh

coverage:
	@sh grader/test/coverage.sh

mutate-grader: $(if $(LESSON),lesson) ready $(B)/doctor
	@KINDS=wrong sh grader/test/all.sh -k $(or $(NAME),$(LESSONS))
	@sh grader/test/mutate.sh $(or $(NAME),$(LESSONS))

mutants: $(if $(LESSON),lesson) ready $(B)/doctor
	@for lesson in $(or $(NAME),$(KERNELS)); do sh grader/test/mutants.sh $$lesson || exit; done

test-gpu: $(if $(LESSON),lesson) ready $(B)/doctor
	@sh grader/test/gpu.sh $(or $(NAME),$(LESSONS))

# With PyTorch, in an environment of its own: no part of make test.
test-torch: ready
	@sh grader/test/torch.sh

test-cpu: ready
	@sh grader/test/all.sh -s '^cpu'

test-aarch64: ready
	@sh grader/test/all.sh -s aarch64

proof:
	@sh grader/cpu/test/hardware/proof.sh summary

bench-cpu: ready
	@sh grader/cpu/bench/run.sh $(B)

format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build

.PHONY: FORCE help tools run install-cpu ready units fuzzers analyzed whole lesson grade hint watch debug profile trace bench train trainers library torch tune plots doctor reset update exercises class handout gradescope new \
        texts slides book editor wrong test soak fuzz analyze coverage mutate-grader mutants test-gpu test-torch test-cpu test-aarch64 proof bench-cpu format clean
.SECONDARY:
