# source.awk: pages of sources for the book: OUT/source/PATH.html for each file, its lines numbered
# and to be linked as #L12, and source/FOLDER/index.html for each folder.
# usage: awk -v out=OUT -v folders="FOLDER..." -v pictures="FILE..." -f source.awk FILE...
# from the course's root; pictures: those that lie in the folders
function escape(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

# C, C++ and CUDA: comments, strings, the preprocessor, words. No comment of ours goes over lines
# but those of /* at the beginning of one, which stay as they are.
function coloured(s,    done, word, n) {
    if (s ~ /^ *#/) return "<span class=\"pp\">" escape(s) "</span>"
    done = ""
    while (s != "") {
        if (match(s, /^\/\/.*/)) {
            done = done "<span class=\"co\">" escape(s) "</span>"
            return done
        } else if (match(s, /^"([^"\\]|\\.)*"/) || match(s, /^'([^'\\]|\\.)*'/)) {
            done = done "<span class=\"st\">" escape(substr(s, 1, RLENGTH)) "</span>"
        } else if (match(s, /^[A-Za-z_][A-Za-z_0-9]*/)) {
            word = substr(s, 1, RLENGTH)
            n = RLENGTH
            done = done (word in keyword ? "<span class=\"kw\">" word "</span>" : word)
            RLENGTH = n
        } else {
            RLENGTH = 1
            done = done escape(substr(s, 1, 1))
        }
        s = substr(s, RLENGTH + 1)
    }
    return done
}

function begin_page(to, path,    up, n, i, part) {
    n = split("source/" path, part, "/") - 1
    if (path ~ /\/index\.html$/) path = substr(path, 1, length(path) - 10)
    up = ""
    for (i = 1; i <= n; i++) up = up "../"
    print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">" >to
    print "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" >to
    print "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" path "</title>" >to
    print "<link rel=\"stylesheet\" href=\"" up "book.css\">\n<script src=\"" up "theme.js\"></script>" >to
    print "</head>\n<body class=\"of-source\">\n<header>" >to
    print "<a class=\"home\" href=\"" up "index.html\">FlashAttention<span> in CUDA C</span></a>" >to
    print "<form class=\"search\" role=\"search\"><input type=\"search\" placeholder=\"Search\"" >to
    print "aria-label=\"Search the book (key /)\" autocomplete=\"off\"></form>" >to
    print "<button class=\"theme\" type=\"button\" aria-label=\"light or dark\">&#9680;</button>\n</header>" >to
    print "<div class=\"found\" hidden></div>\n<main id=\"text\">\n<h1>" path "</h1>" >to
    root = up
}

function end_page(to) {
    print "</main>\n<script src=\"" root "index.js\"></script>" >to
    print "<script src=\"" root "book.js\"></script>\n</body>\n</html>" >to
    close(to)
}

BEGIN {
    n = split("if else for while do return break continue switch case default const static struct enum " \
        "typedef template typename extern inline void int unsigned char float double bool long sizeof " \
        "__global__ __device__ __host__ __shared__ __constant__ __restrict__ __launch_bounds__ " \
        "__syncthreads __syncwarp nullptr true false", words, " ")
    for (i = 1; i <= n; i++) keyword[words[i]]
    # A folder's page lists the files below it, which all have pages.
    n = split(folders, folder, " ")
    for (i = 1; i <= n; i++) {
        to = out "/source/" folder[i] "/index.html"
        begin_page(to, folder[i] "/index.html")
        print "<ul class=\"files\">" >to
        for (k = 1; k < ARGC; k++)
            if (index(ARGV[k], folder[i] "/") == 1) {
                name = substr(ARGV[k], length(folder[i]) + 2)
                print "<li><a href=\"" name ".html\">" name "</a></li>" >to
            }
        n_pictures = split(pictures, picture, " ")
        for (k = 1; k <= n_pictures; k++)
            if (index(picture[k], folder[i] "/") == 1)
                print "<li><a href=\"" root picture[k] "\">" substr(picture[k], length(folder[i]) + 2) "</a></li>" >to
        print "</ul>" >to
        end_page(to)
    }
}
FNR == 1 {
    if (to_file) {
        print "</pre>" >to_file
        end_page(to_file)
    }
    to_file = out "/source/" FILENAME ".html"
    begin_page(to_file, FILENAME)
    printf "<pre class=\"source\" tabindex=\"0\">" >to_file
    code = FILENAME ~ /\.(cu|h|c|S)$/
}
{
    printf "<span class=\"line\" id=\"L%d\">%s\n</span>", FNR, (code ? coloured($0) : escape($0)) >to_file
}
END {
    if (to_file) {
        print "</pre>" >to_file
        end_page(to_file)
    }
}
