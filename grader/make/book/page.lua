-- page.lua: pandoc's filter for a page of the book (book.sh): where its links lead in the book,
-- boxes in which tables scroll, and what the search and the other scripts have to know of the page.
--
-- In the environment: BOOK_FILE, the text, from the course's root; BOOK_PAGE, the page's name;
-- BOOK_WORK, a folder, where it leaves PAGE.used, a line "page|picture|source|folder PATH" for each
-- place that is linked, and PAGE.words, "PAGE#anchor TAB title TAB text" for each section. A link
-- to nowhere ends the build.
local file, page, work = os.getenv("BOOK_FILE"), os.getenv("BOOK_PAGE"), os.getenv("BOOK_WORK")

-- The page of a text that the book has; nil for other files.
local function page_of(path)
    local known = {
        ["README.md"] = "course",
        ["lessons/README.md"] = "lessons",
        ["CONTRIBUTING.md"] = "contributing",
        ["grader/README.md"] = "grader",
        ["grader/cpu/README.md"] = "cpu_device",
        ["lessons/BLACKWELL.md"] = "blackwell",
        ["lessons/IDEAS.md"] = "ideas",
        ["lessons/INSTRUCTORS.md"] = "instructors",
    }
    return known[path] or path:match("^lessons/(%d%d_[%w_]+)/README%.md$")
end

-- "file", "folder", or nil if there is neither.
local function kind_of(path)
    local open = io.open(path)
    if not open then return nil end
    local _, message = open:read(1)
    open:close()
    return message and message:find("directory") and "folder" or "file"
end

local used = {}

-- Where a path from the course's root is in the book; nil if it is not there.
local function place_of(path)
    path = path:gsub("/$", "")
    local kind, to = kind_of(path), page_of(path)
    if not kind then return nil end
    if to then
        used["page " .. path] = true
        return to .. ".html"
    elseif path:find("%.svg$") or path:find("^slides/sweep/") then
        used["picture " .. path] = true
        return path
    elseif kind == "folder" then
        used["folder " .. path] = true
        return "source/" .. path .. "/index.html"
    end
    used["source " .. path] = true
    return "source/" .. path .. ".html"
end

-- The path of a link in this text, from the course's root.
local function from_root(target)
    local path = (file:match("^(.*/)") or "") .. target
    local n
    repeat path, n = path:gsub("[^/]+/%.%./", "", 1) until n == 0
    return path
end

-- The student edition lacks what its texts still name: there a link is its words.
local whole = kind_of("solutions") ~= nil

local function link(element)
    local words = pandoc.walk_inline(pandoc.Span(element.content), {
        Code = function(code)
            code.classes:insert("linked")
            return code
        end,
    }).content
    element.content = words
    local target, anchor = element.target:match("^([^#]*)(#?.*)$")
    if target == "" or target:find("^%a+:") then return element end
    local place = place_of(from_root(target))
    -- README.md's beginning is the start.
    if place == "course.html" and (anchor == "" or anchor == "#the-lessons") then place = "index.html" end
    if place then
        element.target = place .. anchor
        return element
    elseif whole then
        io.stderr:write(("%s: the link to %s leads nowhere\n"):format(file, element.target))
        os.exit(1)
    end
    return words
end

local function image(element)
    local place = place_of(from_root(element.src))
    if not place then
        io.stderr:write(("%s: there is no picture %s\n"):format(file, element.src))
        os.exit(1)
    end
    element.src = place
    -- What is drawn on white is turned on a dark page (book.css).
    local svg = io.open(place)
    local beginning = svg:read(8000) or ""
    svg:close()
    if beginning:find('fill="#fff"/>', 1, true) or beginning:find('fill="#ffffff"/>', 1, true) then
        element.classes:insert("white")
    end
    -- On a small screen it is small: alone it can be made larger.
    return pandoc.Link({element}, place, "", pandoc.Attr("", {"picture"}))
end

-- A file's name in the text leads to the file: from the course's root, or from the text.
local function code(element)
    local name = element.text
    if element.classes:includes("linked") then
        element.classes = {}
    elseif name:find("^[%w_.-]+/[%w_./-]*[%w_]$") and not name:find("^build/") and not name:find("^saved/") then
        for _, path in ipairs({from_root(name), name}) do
            if kind_of(path) == "file" then
                -- A path may go on in the next line behind a slash.
                local words = pandoc.RawInline("html", "<code>" .. name:gsub("/", "/<wbr>") .. "</code>")
                return pandoc.Link({words}, place_of(path))
            end
        end
    end
    return element
end

-- A line for each section: where it is, its title, its text.
local function write_words(blocks)
    local out = assert(io.open(("%s/%s.words"):format(work, page), "w"))
    local anchor, title, text = "", "", {}
    local function flush()
        local words = table.concat(text, " "):gsub("%s+", " ")
        if title ~= "" then out:write(("%s.html%s\t%s\t%s\n"):format(page, anchor, title, words)) end
    end
    for _, block in ipairs(blocks) do
        if block.t == "Header" and block.level <= 3 then
            flush()
            title, text = pandoc.utils.stringify(block), {}
            anchor = block.level == 1 and "" or "#" .. block.identifier
        else
            -- stringify() leaves code blocks out.
            pandoc.walk_block(pandoc.Div({block}), {
                Str = function(s) table.insert(text, s.text) end,
                Code = function(s) table.insert(text, s.text) end,
                CodeBlock = function(s) table.insert(text, s.text) end,
            })
        end
    end
    flush()
    out:close()
end

function Pandoc(doc)
    write_words(doc.blocks)
    local sections = {}
    for _, block in ipairs(doc.blocks) do
        if block.t == "Header" and block.level == 1 and not doc.meta.pagetitle then
            doc.meta.pagetitle = pandoc.utils.stringify(block)
        elseif block.t == "Header" and block.level == 2 then
            table.insert(sections, pandoc.Plain{pandoc.Link(block.content, "#" .. block.identifier)})
        end
    end
    local all = pandoc.Div(doc.blocks)
    all = pandoc.walk_block(all, {Link = link, Image = image})
    all = pandoc.walk_block(all, {
        Code = code,
        Table = function(element)
            return pandoc.Div({element}, pandoc.Attr("", {"scroll"}, {tabindex = "0"}))
        end,
        CodeBlock = function(element)
            element.attributes.tabindex = "0"
            return element
        end,
    })
    doc.blocks = all.content
    if #sections > 0 then doc.meta.sections = {pandoc.BulletList(sections)} end
    local out = assert(io.open(("%s/%s.used"):format(work, page), "w"))
    for place in pairs(used) do out:write(place, "\n") end
    out:close()
    return doc
end
