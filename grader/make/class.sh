#!/bin/sh
# class.sh: is there what only `make class` needs?
for header in archive.h csv.h libxml/xmlwriter.h; do
    printf '#include <%s>\n' "$header" | ${CC:-gcc} -I/usr/include/libxml2 -E -xc - >/dev/null 2>&1 || {
        echo "make class needs libarchive, libcsv and libxml2, and <$header> is not here. Run: sh setup.sh --class" >&2
        exit 2
    }
done
