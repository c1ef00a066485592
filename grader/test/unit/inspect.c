// inspect.c: what a graded file may do: each thing that is refused, with its line, and what is not.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "check/check.h"
#include "test/unit/run.h"
#include "wall/inspect.h"

#define LINE3 "# 3 \"x.cu\"\n"

// ---- the text

static const struct {
    const char *text, *says;  // "" for what is allowed
} texts[] = {
    {"int f() { return 1; }", ""},
    {"__attribute__((aligned(16))) float x;", ""},
    {"[[maybe_unused]] int y; a[b[0]] = 1;", ""},
    {"const char* s = \"asm __builtin_trap cudev\";", ""},
    {"#pragma unroll 4\n", ""},
    {"float z = __builtin_inff();", ""},
    {"asm(\"nop\");", "x.cu:3: inline assembly"},
    {"\n__asm__ volatile(\"\");", "x.cu:4: inline assembly"},
    {"__attribute__((constructor)) void g();", "x.cu:3: the attribute constructor"},
    {"__attribute__((aligned(8), section(\"x\"))) int s;", "x.cu:3: the attribute section"},
    {"__attribute__((section(\"cudev_device_zero\" \",\\\"aw\\\",@nobits#\"))) int s;", ""},
    {"__attribute__((section(\"cudev_device_zero\" \"\\n.text\"))) int s;",
     "x.cu:3: the attribute section"},
    {"[[gnu::constructor]] void g();", "x.cu:3: the attribute constructor"},
    {"#pragma GCC optimize(\"O0\")\n", "x.cu:3: #pragma GCC"},
    {"thread_local int t;", "x.cu:3: thread_local"},
    {"__builtin_trap();", "x.cu:3: __builtin_trap"},
    {"__tsan_init();", "x.cu:3: __tsan_init belongs to the grader"},
    {"a; ::cudev::unset(x); return ::cudev::known<(k)>::at(::cudev::site(x))(y);", ""},
    {"*(float2*)p = ::cudev::whole<decltype((*(float2*)p))>({a, b});", ""},
    {"::cudev::known<(k)>::at(::cudev::site(x, ::cudev::cluster(2, 1, 1), 3))(y);", ""},
    {"static const ::cudev::dynamic_array<float> a; f(4, ::cudev::element<t>::bytes);", ""},
    {"namespace cudev { int x; }", "x.cu:3: cudev belongs to the CPU device"},
    {"::cudev::launch(s, f);", "x.cu:3: cudev belongs to the CPU device"},
    {"using ::cudev::site;", "x.cu:3: cudev belongs to the CPU device"},
    {"template <> decltype(0u) ::cudev::extent<int, 0>::value = 1;", "x.cu:3: cudev belongs"},
    {"<:<:gnu::constructor:>:> void g();", "x.cu:3: <:: write the bracket"},
    {"std::vector<::quad> q; a = b ? c<d : e; x = 7 % y;", ""},
    {"int f() <% return 1; %>", "x.cu:3: <%: write the bracket"},
    {"extern const float _ZL4word[9];", "x.cu:3: _ZL4word belongs to the compiler"},
    {"gate_printf(\"\");", "x.cu:3: gate_printf belongs to the grader"},
    {"cudev_last_failure(0);", "x.cu:3: cudev_last_failure belongs to the CPU device"},
    {"# 1 \"other.h\"\nasm(\"a header's\");\n" LINE3 "int f;", ""},
    {" # 1 \"other.h\"\nasm(\"no header's\");", "x.cu:3: a directive has no place here"},
    {"#define f asm\n#undef f\nint g;", ""},
    {"extern const float a[];", "x.cu:3: an array without a size"},
    {"extern const float a[][4], b;", "x.cu:3: an array without a size"},
    {"struct s { int n; float x[]; };", "x.cu:3: an array without a size"},
    {"kind<float[]>::type x;", "x.cu:3: an array without a size"},
    {"void f(float a[], int b[][4]); int c[] = {1}; auto g = [] { delete[] p; };", ""},
    {"__builtin_va_start(list, n);", "x.cu:3: a function with any number of arguments"},
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

START_TEST(test_text) {
    char text[512], message[512] = "";
    snprintf(text, sizeof text, LINE3 "%s", texts[_i].text);
    bool fine = inspect_text(text, text, "x.cu", message, sizeof message);
    ck_assert_msg(fine == !*texts[_i].says, "%s: %s", texts[_i].text, message);
    ck_assert_msg(strstr(message, texts[_i].says), "%s, not %s", message, texts[_i].says);
}
END_TEST

START_TEST(test_both_texts_are_the_same) {
    char message[512];
    const char plain[] = LINE3 "int f() { return 1; }";
    ck_assert(inspect_text(plain, "# 1 \"h\"\nint g;\n" LINE3 "int  f()\n{ return 1; }", "x.cu",
                           message, sizeof message));
    ck_assert(!inspect_text(plain, LINE3 "int f() { return 2; }", "x.cu", message, sizeof message));
    ck_assert(strstr(message, "x.cu:3: this line reads differently"));
    ck_assert(!inspect_text(plain, LINE3 "int f() { return 1; } int g;", "x.cu", message,
                            sizeof message));
}
END_TEST

// ---- headers and macros

#define SOURCE "#line 1 \"x.cu\"\n"
#define MATH "# 1 \"/usr/include/math.h\" 1 3\n#define NAN 0\ndouble sin(double);\n# 2 \"x.cu\" 2\n"
#define START "# 1 \"x.cu\"\n"
#define ENTERS(path) START "# 1 \"" path "\" 1\n# 2 \"x.cu\" 2\n"

static const struct {
    const char *source, *text, *alone, *says;  // "" for what is allowed
} includes[] = {
    {"#include <math.h>\n", START MATH, START MATH, ""},
    {"#include <math.h>\n", START MATH "#define N 1\n#undef _MINE\nint x;\n", START MATH, ""},
    {"#include <./math.h>\n", START MATH, START MATH, ""},
    {"#include \"x.h\"\n", ENTERS("include/./x.h"), "", ""},
    {"#include \"cuda_fp16.h\"\n", ENTERS("include/cpu/cuda_fp16.h"), "", ""},
    {"#if __has_include(<mma.h>) && defined(__has_include)\n#endif\n", "", "", ""},
    {"  # include <immintrin.h>\n", ENTERS("/usr/lib/immintrin.h"), "", "x.cu:1: includes immin"},
    {"#include <parallel/numeric>\n", ENTERS("/usr/c++/parallel/numeric"), "", "includes para"},
    {"#include \"cudev/api.h\"\n", ENTERS("include/cpu/cudev/api.h"), "", "includes cudev/api.h"},
    {"#include <cudev.h>\n", ENTERS("include/cpu/cudev.h"), "", "x.cu:1: includes cudev.h"},
    {"#include \"unit.cpp\"\n", ENTERS("out/unit.cpp"), "", "includes out/unit.cpp"},
    {"#include HEADER\n", "", "", "x.cu:1: #include names its header"},
    {"\n#include \"/etc/passwd\"\n", "", "", "x.cu:2: includes /etc/passwd"},
    {"#if 0\n#include \"a/../b.h\"\n", "", "", "x.cu:2: includes a/../b.h"},
    {"#elif __has_include(\"../a\")\n", "", "", "x.cu:1: __has_include() asks"},
    {"#if __has_include(A)\n", "", "", "x.cu:1: __has_include() asks"},
    {"#if __has_include_next(<a>)\n", "", "", "x.cu:1: __has_include() asks"},
    {"#define ASK __has_include\n", "", "", "x.cu:1: __has_include() asks"},
    {"#include <math.h>\n", START MATH, START MATH "# 1 \"h\"\nint h;\n", "what h says"},
    {"#include <math.h>\n", START "# 1 \"/usr/include/math.h\" 1\nint sin;\n# 2 \"x.cu\" 2\n",
     START MATH, "x.cu:1: a macro of this file changes what /usr/include/math.h says"},
    {"", START "#define while if\n", "", "x.cu:1: defines while anew"},
    {"", START "\n#undef __global__\n", "", "x.cu:2: defines __global__ anew"},
    {"", START "#define my_cudev_launch\n", "", "defines my_cudev_launch anew"},
    {"", "# 1 \"include/y.h\"\n#define _Y 1\n" START "#undef _Y\n",
     "# 1 \"include/y.h\"\n#define _Y 1\n", "x.cu:1: defines _Y anew"},
};
enum { INCLUDES = sizeof includes / sizeof includes[0] };

START_TEST(test_includes) {
    char source[512], message[512] = "";
    const struct inspect_texts t = {includes[_i].text, includes[_i].alone, NULL};
    snprintf(source, sizeof source, SOURCE "%s", includes[_i].source);
    bool fine = inspect_includes(source, &t, "x.cu", message, sizeof message);
    ck_assert_msg(fine == !*includes[_i].says, "%s: %s", includes[_i].source, message);
    ck_assert_msg(strstr(message, includes[_i].says), "%s, not %s", message, includes[_i].says);
}
END_TEST

START_TEST(test_has_word) {
    ck_assert(inspect_has_word("malloc\nfree\n", "free"));
    ck_assert(!inspect_has_word("malloc\nfreed _free free_\n", "free"));
    ck_assert(!inspect_has_word("", "free"));
}
END_TEST

// ---- what the compiler leaves

static const struct {
    const char *file, *text;
} left[] = {
    {"deps",
     "out/unit.s: out/source/unit.cpp include/x.h \\\n include/cpu/../y.h /usr/include/z.h"},
    {"source/unit.cpp", "#line 1 \"x.cu\"\n#include <math.h>\n\nint f;"},
    {"unit.ii", LINE3 "int f;"},
    {"watched.ii", LINE3 "int f;"},
    {"source/unit.cu",
     "#line 1 \"x.cu\"\nint f = 1'0, map; char c[] = \"cudev\\\"cudev\";\n#ifdef __CUDEV__"},
    {"alone.ii", LINE3},
    {"alone-watched.ii", LINE3},
    {"unit.s", "\tret\n"},
    {"symbols", "add T 0 9\tx.cu:5\nadd_all T 0 9\nsqrtf U         \nprintf U\n_Z1kv W 0 1\n"},
    {"symbols-watched", "add T 0 9\nmemcpy U\n__tsan_read4 U\n"},
    {"sections", "  [ 1] .text PROGBITS\n  [ 2] .data PROGBITS\n"},
    {"by_value", ""},
    {"beside", ""},
    {"endless", ""},
    {"device", "int cudev_launch(int);"},
    {"watching", "void cudev_watch(void);"},
    {"runner", "main\nrun_gpu\n"},
    {"gated", "printf\nmalloc\n"},
    {"wanted", "add\nrun_gpu\n"}};
enum { LEFT = sizeof left / sizeof left[0], READ_ALWAYS = LEFT - 1 };

static void leave(const char* file, const char* text) {
    ck_assert_int_eq(file_make_parents(file), 0);
    ck_assert_int_eq(file_write(file, text, strlen(text), 0600), 0);
}

// Each test has a folder of its own.
static void begin(void) {
    char folder[] = "/tmp/inspect.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    for (int i = 0; i < LEFT; i++) leave(left[i].file, left[i].text);
}

static void end(void) {
    char folder[64];
    for (int i = 0; i < LEFT; i++) unlink(left[i].file);
    static const char* const gpu[] = {"symbols-gpu", "sections-gpu", "host.ii", "alone-host.ii",
                                      "toolkit"};
    for (int i = 0; i < 5; i++) unlink(gpu[i]);
    rmdir("source");
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static enum inspection inspect(char message[512]) {
    message[0] = '\0';
    return inspect_unit(".", "x.cu", "add", message, 512);
}

static const struct {
    const char *file, *text, *says;
} refused[] = {
    {"deps", "out/unit.s: out/source/unit.cpp ../solutions/x.cu", "includes ../solutions/x.cu"},
    {"deps", "out/unit.s: include/../secret.h", "includes secret.h"},
    {"unit.s", "#APP\n# 7 \"x.cu\" 1\n\tnop\n", "x.cu:7: inline assembly"},
    {"unit.s", "\t.incbin \"/etc/passwd\"\n", "assembler directives"},
    {"symbols", "add T 0 9\nmain T 0 9\tx.cu:6\n", "x.cu:6: defines main(), which the grader has"},
    {"symbols", "add T 0 9\nadding T 0 9\n", "defines the C symbol adding"},
    {"symbols", "_Znwm T 0 9\n", "replaces _Znwm"},
    {"symbols", "f i 0 9\n", "ifunc"},
    {"symbols", "run_gpu U\n", "uses run_gpu, which belongs to the grader"},
    {"symbols", "fopen U\tx.cu:9\n", "x.cu:9: uses fopen"},
    {"symbols", "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base U\n",
     "x.cu:1: map needs functions of the C++ library"},
    {"symbols", "_ZNSs6_M_replaceEv U\n", "uses _ZNSs6_M_replaceEv"},
    {"symbols", "cudaGraphLaunch U\n", "calls cudaGraphLaunch"},
    {"symbols", "cudaStreamAddCallback U\n", "cannot follow: call the function in the launcher"},
    {"symbols", "cudaDeviceReset U\n", "cannot follow: free what you have allocated"},
    {"symbols", "cudaHostRegister U\n", "calls cudaHostRegister, which the grader cannot follow"},
    {"symbols", "cudaCreateTextureObject U\n", "calls cudaCreateTextureObject, which the grader"},
    {"symbols", "cudaGetDriverEntryPoint U\n", "calls cudaGetDriverEntryPoint, which the grader"},
    {"symbols", "cudev_texture_of U\n", "uses cudev_texture_of"},
    {"symbols", "add T 0 9\ncudev_any_shares T 0 9\n", "defines the C symbol cudev_any_shares"},
    {"symbols", "cudaMemcpy3D U\n", "cannot follow: use cudaMemcpy2D(), once for each layer"},
    {"symbols-watched", "system U\n", "uses system"},
    {"symbols-watched", "modff U\n", "declares modff anew"},
    {"symbols-gpu", "system U\n", "uses system"},
    {"by_value", "x.cu:7\n", "x.cu:7: a call takes a structure from memory"},
    {"beside", "x.cu:8\n", "x.cu:8: an access that nobody sees"},
    {"endless", "x.cu:3\n", "x.cu:3: an array of 0 elements"},
    {"sections", "  [ 1] .init_array INIT_ARRAY\n", "section .init_array"},
    {"unit.ii", LINE3 "int g;", "reads differently"},
    {"watched.ii", LINE3 "#define COURSE_TRY\nint f;", "x.cu:3: defines COURSE_TRY anew"},
    {"source/unit.cu", "#line 1 \"x.cu\"\n\nint CuDev_x;", "x.cu:2: CuDev_x belongs to"},
    {"alone.ii", "# 1 \"h\"\nint h;", "a macro of this file changes what h says"},
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

START_TEST(test_refused) {
    char message[512];
    begin();
    ck_assert_int_eq(inspect(message), INSPECTION_FINE);
    leave(refused[_i].file, refused[_i].text);
    ck_assert_int_eq(inspect(message), INSPECTION_REFUSES);
    ck_assert_msg(strstr(message, refused[_i].says), "%s, not %s", message, refused[_i].says);
    end();
}
END_TEST

// What nvcc leaves, and what is wrong with it.
START_TEST(test_gpu) {
    static const struct {
        const char *file, *text, *says;
    } wrong[] = {
        {"host.ii", START "__attribute__((constructor)) void f();", "the attribute constructor"},
        {"host.ii", START "int f() { asm(\"\"); }", "x.cu:1: inline assembly that host code has"},
        {"host.ii", START "#undef COURSE_TRY\n", "x.cu:1: defines COURSE_TRY anew"},
        {"host.ii", START "# 1 \"/usr/x.h\" 1\n# 2 \"x.cu\" 2\n", "x.cu:1: includes mma.h"},
        {"alone-host.ii", "# 1 \"h\"\nint h;\n", "what h says"},
        {"symbols-gpu", "add T 0 9\nmalloc T 0 9\n", "defines the C symbol malloc"},
        {"sections-gpu", "  [ 2] .init_array INIT_ARRAY 000 000 000010 08\n",
         "section .init_array"},
    };
    char message[512];
    begin();
    leave("symbols-gpu", "add T 0 9\natexit U\n");
    ck_assert_int_eq(inspect(message), INSPECTION_HAS_NOTHING);
    for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
        leave("symbols-gpu", "add T 0 9\natexit U\n_Z15__device_stub__k T 0 9\n");
        leave("sections-gpu", "  [ 2] .init_array INIT_ARRAY 000 000 000008 08\n"
                              "  [ 3] .rela.init_array RELA 000 000 000018 18\n");
        leave("source/unit.cu", "#line 1 \"x.cu\"\n#include <mma.h>\n");
        leave("host.ii", START "# 1 \"/cuda/mma.h\" 1\n# 2 \"x.cu\" 2\n"
                               "__attribute__((global)) void k();\n");
        leave("alone-host.ii", START "# 1 \"/cuda/mma.h\" 1\n# 2 \"x.cu\" 2\n");
        leave("toolkit", "/cuda/\n");
        if (i == sizeof wrong / sizeof wrong[0]) break;
        leave(wrong[i].file, wrong[i].text);
        ck_assert_int_eq(inspect(message), INSPECTION_REFUSES);
        ck_assert_msg(strstr(message, wrong[i].says), "%s, not %s", message, wrong[i].says);
    }
    ck_assert_msg(inspect(message) == INSPECTION_FINE, "%s", message);
    end();
}
END_TEST

// What is not there is nobody's fault but the grader's.
START_TEST(test_nothing_left) {
    char message[512];
    begin();
    unlink(left[_i].file);
    ck_assert_int_eq(inspect(message), INSPECTION_HAS_NOTHING);
    ck_assert_str_eq(message, "");
    end();
}
END_TEST

START_TEST(test_missing) {
    char name[64];
    begin();
    ck_assert(!inspect_missing(".", "add", name, sizeof name));
    leave("wanted", "run_gpu\nadd\nadd_backward\n");
    ck_assert(inspect_missing(".", "add", name, sizeof name));
    ck_assert_str_eq(name, "add_backward");
    leave("symbols", "add_all T 0 9\n");
    ck_assert(inspect_missing(".", "add", name, sizeof name));
    ck_assert_str_eq(name, "add");
    end();
}
END_TEST

const struct lesson lesson = {.name = "00_none"};

int main(void) {
    Suite* suite = suite_create("inspect");
    TCase* t = tcase_create("inspect");
    tcase_add_loop_test(t, test_text, 0, TEXTS);
    tcase_add_test(t, test_both_texts_are_the_same);
    tcase_add_loop_test(t, test_includes, 0, INCLUDES);
    tcase_add_test(t, test_has_word);
    tcase_add_loop_test(t, test_refused, 0, REFUSED);
    tcase_add_loop_test(t, test_nothing_left, 0, READ_ALWAYS);
    tcase_add_test(t, test_gpu);
    tcase_add_test(t, test_missing);
    suite_add_tcase(suite, t);
    return run_suite(suite, 4 + TEXTS + INCLUDES + REFUSED + READ_ALWAYS);
}
