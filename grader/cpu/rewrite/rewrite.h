// Shared by the files of the rewriter: the tokens of the source, and one section for each file.
// Positions are indices into `tokens`.
#ifndef CUDEV_REWRITE_H
#define CUDEV_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

// ---- tokens.c ----

// SPACE: white space, comments, directives, and the head of a #define up to its body.
enum kind { SPACE, WORD, PUNCTUATION, LITERAL, END };

struct token {
    enum kind kind;
    const char* text;
    size_t length;
    int line;
    const char* at;     // its place in the source
    char* replacement;  // printed instead of the text unless NULL
    bool hidden;        // blanks take its place where only the compiler's words are wanted
    const char* sized;  // takes its place, with blanks behind, where those on a launch's sizes are
};

// A growing string, always terminated.
struct text {
    char* data;
    size_t length, capacity;
};

extern const char* shown_name;  // of the source, for messages and #line
// --any: not a file to be graded. It may use what cpu/extra has, pragmas of any compiler, raw
// strings, and whatever else makes no difference to the rewriter.
extern bool any_source;
extern struct token* tokens;  // the last one is END

// Prints "file:line:column: error: ...", and the line with a mark below token i, and ends the
// program.
void fail(size_t i, const char* format, ...) __attribute__((noreturn, format(printf, 2, 3)));
// The same for what stands at `at` in the source; NULL: there is no column.
void fail_here(int line, const char* at, const char* format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
// Where these n bytes first stand in the line; NULL: nowhere.
const char* source_at(int line, const char* words, size_t n);
void* checked(void* memory);  // ends the program if memory is NULL

void add_bytes(struct text* t, const char* bytes, size_t n);
void add(struct text* t, const char* string);
void add_tokens(struct text* t, size_t from, size_t to);  // [from, to) as one line

// Cuts a terminated string into tokens; the string has to stay.
void cut(const char* source);

// Looking around. next() and previous() skip SPACE; previous(i) is i at the beginning of the file
// or of a #define body, next(i) is i at the end.
bool is(size_t i, const char* text);
bool is_listed(const char* words, const char* word, size_t length);  // words: "if for while"
bool is_one_of(size_t i, const char* words);
bool same_word(size_t a, size_t b);
size_t next(size_t i);
size_t previous(size_t i);
// Do tokens behind the SPACE at `space` belong to a #define body, if those before it do
// (in_define)?
bool in_define_after(size_t space, bool in_define);
bool opens(size_t i);   // ( [ {
bool closes(size_t i);  // ) ] }
size_t matching(size_t open);
size_t matching_back(size_t close);  // also for > and >>>

// Changing. SPACE is never replaced, so lines stay where they are.
void replace(size_t i, const char* format, ...) __attribute__((format(printf, 2, 3)));
void delete_tokens(size_t from, size_t to);

// Does the { at `i` open a namespace or extern "C" block?
bool opens_namespace(size_t i);

// ---- braces.c ----

bool begins_line(size_t i);  // is token i the first of its line?
void check_braces(void);     // fails, with its line, if a brace is missing or too many

// ---- kernels.c: the kernels that the file declares ----

void note_kernel(size_t global);  // reads the declaration whose __global__ is there
bool is_kernel(size_t name);
// Does the expression that ends at `last` name a kernel of this file, with or without template
// arguments?
bool named_at(size_t last);
// Can `(const void *)(expression)` be written for a kernel expression that ends at `last`? Only if
// it names one function for certain; the launch then knows the kernel's shared memory limit.
bool has_address(size_t last);
// The parameters of the kernel that the expression up to `last` names, or that a pointer of this
// name is set to: "out,in,n". Empty if not known.
const char* parameters_of(size_t last);
// Refuses __cluster_dims__ where note_kernel() does not read it.
void check_cluster(size_t i);
// The blocks of a cluster that the kernel's __cluster_dims__ asks for: "(2, 1, 1)".
const char* cluster_of(size_t last);
// Adds the name of the kernel of the expression [first, last].
void add_kernel_name(struct text* t, size_t first, size_t last);

// ---- functions.c: which functions of the file run where ----

// Reads which functions the file has, before anything is replaced.
void read_functions(void);
bool on_device(size_t i);         // is token i in a kernel or a helper?
bool in_device_member(size_t i);  // ... or in a structure's function for the device?
bool only_on_device(size_t i);    // ... and not in a function that is also the host's?
// Warns if the local array `name` is used as if all threads of the block had it in common.
void check_own_array(size_t name);
extern bool unset_array;  // it has warned
enum side { NO_SIDE, HOST_SIDE, DEVICE_SIDE, BOTH_SIDES };
enum side function_side(size_t i);           // of the function whose body holds token i
bool is_copied_function(size_t i);           // is that function a template or inline?
size_t body_around(size_t i, bool* kernel);  // the { of the function around it; is it a kernel?
// Is there a kernel of this name, and a function that is none?
bool is_overloaded_kernel(size_t name);
bool is_helper(size_t i);          // is the word a function of the file that kernels may call?
bool is_parameter_here(size_t i);  // is the word a parameter of that function?
void check_call(size_t i);         // fails if a kernel calls a function of the host there
void check_launched(size_t last);  // fails unless the expression up to `last` can be a kernel
void check_retired(size_t i);      // fails if the word is a function that CUDA had

// ---- variables.c: whose a variable of the file is: the host's or the device's ----

// Fails if a kernel uses a variable of the host, or host code uses a variable of the device. Puts
// the device's variables into sections of their own (include/cudev/language.h).
void check_variables(void);

// ---- launches.c: launches of kernels ----

// Makes one token of each <<< and >>> that is written with a blank, as nvcc does.
void join_launches(void);
// The launch whose <<< is there; in_define: in the body of a #define.
void rewrite_launch(size_t open, bool in_define);
// cudaLaunchKernel((const void*)kernel, ...), and cudaLaunchKernelExC().
void rewrite_launch_call(size_t i);
void rewrite_launch_ex(size_t i);  // cudaLaunchKernelEx(&config, kernel, ...)
// A kernel called like a function runs nothing on a GPU, and nvcc refuses it: so does the compiler
// then.
void check_plain_call(size_t i);

// ---- shared.c: declarations of shared memory ----

// Rewrites the declaration whose __shared__ is there; file_scope: it stands outside of functions.
// Returns its last token.
size_t rewrite_shared(size_t shared, bool file_scope);

// ---- members.c: structures over dynamic shared memory ----

void note_dynamic(size_t name);     // dynamic shared memory has this name in a function
void rewrite_overlay(size_t word);  // lists the members if the word is that, cast to a structure

// ---- locals.c: local variables that have no value ----

// Gives a conspicuous value to the variables that are declared without a value behind `end`, which
// is a ; { or } of a function.
void unset_locals(size_t end);

// ---- loops.c: rounds of loops ----

// Says where a round of the loop begins whose for or while is there.
void rewrite_loop(size_t loop, bool in_define);

// ---- stores.c: structures that are stored as a list of their members

// Makes one store of `*(float4*)p = {a, b, c, d}`, whose = is there.
void rewrite_store(size_t equals);

// ---- references.c: vectors that helpers take by reference

// Makes one load of `const float4& v` of a helper, whose & is there.
void rewrite_reference(size_t ampersand);

// ---- absent.c: parts of CUDA that this device lacks ----

void check_absent(size_t i);  // fails if the word is of CUDA, but not of the CPU device
// Fails if a header that the SPACE at `space` includes is not of the CPU device. conditions: of #if
// around; returns those behind it.
int check_directives(size_t space, int conditions);
// Does the file begin with #ifndef and #define of one name, so that its text counts once?
bool has_include_guard(void);
// Does this device lack the header that an #include names? Then *what says of which library it is,
// and *use what to take instead.
bool absent_header(const char* name, const char** what, const char** use);

// ---- output.c: writing the file ----

// Writes the file with all replacements, or as it was, for nvcc, without its comments; fails if a
// line could be read in two ways.
void write_out(const char* name, bool rewritten);

// Writes the file with every character in its own line and column, launches as calls: not to be
// run, but whatever the compiler says to it is true of the source. sizes: launches are what stands
// between <<< and >>>, as arguments of one function.
void write_for_words(const char* name, bool sizes);

#endif
