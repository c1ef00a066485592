// cache.h: programs that were built before, in build/cache, for this user only.
#ifndef CACHE_H
#define CACHE_H

#include <sha2.h>
#include <stdbool.h>
#include <stddef.h>

// The results of a build: two programs, each as a memfd that nobody can change (the caller closes
// it); what the compiler said; whether it named a variable without a value; and the place of a
// function that ends without returning one, see struct build. The caller frees both texts.
struct cache_entry {
    int program;
    int watched;
    char* log;
    bool unset;
    char* no_return;
};

// Adds a file to the hash: its name, its size and its bytes. Returns 0, or -1 with errno.
int cache_hash_file(SHA2_CTX* hash, const char* path, const char* name);

// The key of a program covers everything it is made of: each file of the scratch folder `work`
// before the compiler runs, by its name and its bytes; the installed compilers; the sources of the
// inspection, which say what is refused; and `more`, the rest of the request. SHA-256, in hex.
// Returns 0, or -1 with errno if a file cannot be read.
int cache_key(const char* work, const char* more, char hex[65]);

// False if there is no such program.
bool cache_fetch(const char* key, struct cache_entry* entry);

// Keeps out/program, out/watched, and of the entry the log and what the compiler named. If all
// programs together exceed the limit, those unused for the longest time are removed. The limit is
// 1 GiB, or COURSE_CACHE_MB in the environment. If anything fails here, the program is built again
// next time.
void cache_store(const char* key, const char* out, const struct cache_entry* entry);

// A program as a memfd that nobody can change, or -1 with errno.
int cache_load_program(const char* path);

#endif
