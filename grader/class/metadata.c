// metadata.c: submission_metadata.yml of a Gradescope export: who handed in which folder, and when.
// Read by libyaml. See class.h.
//
// Its layout, as the service writes it (docs: "Export Submissions"; a sample in the tests of
// public readers of it):
//
//     submission_409194023:
//       :submitters:
//       - :name: Ada Lovelace
//         :sid: '18233'
//         :email: ada@example.org
//       :created_at: 2026-11-20 17:34:00.861687000 Z
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "class/class.h"

static const char* text_of(const yaml_node_t* node) {
    return node && node->type == YAML_SCALAR_NODE ? (const char*)node->data.scalar.value : "";
}

// The value of the key in a mapping; NULL if it is not there. A symbol's ':' is left out.
static yaml_node_t* value_of(yaml_document_t* d, const yaml_node_t* map, const char* key) {
    if (!map || map->type != YAML_MAPPING_NODE) return NULL;
    for (yaml_node_pair_t* p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const char* name = text_of(yaml_document_get_node(d, p->key));
        if (!strcmp(name + (name[0] == ':'), key)) return yaml_document_get_node(d, p->value);
    }
    return NULL;
}

static void copy(char* to, size_t size, const char* text) {
    char* utf8 = name_utf8(text, strlen(text), "windows-1252");
    snprintf(to, size, "%s", utf8);
    free(utf8);
}

static bool read_submission(yaml_document_t* d, const char* name, const yaml_node_t* s,
                            struct submitters* to) {
    yaml_node_t* list = value_of(d, s, "submitters");
    memset(to, 0, sizeof *to);
    copy(to->folder, sizeof to->folder, name);
    to->time = time_iso(text_of(value_of(d, s, "created_at")));
    if (!list || list->type != YAML_SEQUENCE_NODE) return false;
    for (yaml_node_item_t* i = list->data.sequence.items.start;
         i < list->data.sequence.items.top && to->count < MOST_SUBMITTERS; i++) {
        yaml_node_t* who = yaml_document_get_node(d, *i);
        struct owner* o = &to->owner[to->count];
        memset(o, 0, sizeof *o);
        copy(o->name, sizeof o->name, text_of(value_of(d, who, "name")));
        copy(o->key, sizeof o->key, text_of(value_of(d, who, "sid")));
        copy(o->email, sizeof o->email, text_of(value_of(d, who, "email")));
        if (!o->name[0]) memcpy(o->name, o->email[0] ? o->email : o->key, KEY_SIZE);
        // What tells two of one name apart, in this export
        memcpy(o->number, o->key[0] ? o->key : o->email, KEY_SIZE);
        to->count += o->name[0] != '\0';
    }
    return to->count > 0;
}

// Is the text YAML as deep as the service writes it, and with no more names for its parts? libyaml
// takes a time that grows with the square of both. A text that is none is not.
static bool is_ordinary(const char* text, size_t size) {
    enum { DEEPEST = 32, ANCHORS = 5000 };
    yaml_parser_t parser;
    int depth = 0, anchors = 0;
    bool fine = true, ended = false;
    if (!yaml_parser_initialize(&parser)) class_refuse("no memory for %s", METADATA_FILE);
    yaml_parser_set_input_string(&parser, (const unsigned char*)text, size);
    while (fine && !ended) {
        yaml_event_t e;
        fine = yaml_parser_parse(&parser, &e) != 0;
        if (!fine) break;
        bool list = e.type == YAML_SEQUENCE_START_EVENT, map = e.type == YAML_MAPPING_START_EVENT;
        depth += list || map;
        depth -= e.type == YAML_SEQUENCE_END_EVENT || e.type == YAML_MAPPING_END_EVENT;
        anchors += (list && e.data.sequence_start.anchor) || (map && e.data.mapping_start.anchor) ||
                   e.type == YAML_ALIAS_EVENT ||
                   (e.type == YAML_SCALAR_EVENT && e.data.scalar.anchor);
        ended = e.type == YAML_STREAM_END_EVENT;
        fine = depth <= DEEPEST && anchors <= ANCHORS;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&parser);
    return fine;
}

struct submitters* metadata_read(const char* text, size_t size, int* count) {
    struct submitters* all = NULL;
    yaml_parser_t parser;
    yaml_document_t d;
    *count = 0;
    if (!is_ordinary(text, size)) return NULL;
    if (!yaml_parser_initialize(&parser)) class_refuse("no memory for %s", METADATA_FILE);
    yaml_parser_set_input_string(&parser, (const unsigned char*)text, size);
    if (!yaml_parser_load(&parser, &d)) {
        yaml_parser_delete(&parser);
        return NULL;
    }
    const yaml_node_t* root = yaml_document_get_root_node(&d);
    if (root && root->type == YAML_MAPPING_NODE) {
        size_t n = (size_t)(root->data.mapping.pairs.top - root->data.mapping.pairs.start);
        all = calloc(n + 1, sizeof *all);
        if (!all) class_refuse("no memory for %s", METADATA_FILE);
        for (yaml_node_pair_t* p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top;
             p++)
            *count += read_submission(&d, text_of(yaml_document_get_node(&d, p->key)),
                                      yaml_document_get_node(&d, p->value), &all[*count]);
    }
    yaml_document_delete(&d);
    yaml_parser_delete(&parser);
    return all;
}
