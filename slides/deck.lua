-- deck.lua: pandoc's filter for the decks: code from the course's files, figures from recorded
-- runs, drawings. What a slide names and is not there is an error with the deck's file and line.
--
--   ```{.c include="solutions/…/x.cu" region="bring s up to date"}      between the marks of the one
--   ```                                 BEGIN SOLUTION whose text contains these words
--   ```{.c include="…" from="words" to="words"}   from the one line with these words to the next with those;
--   ```                                 " … " stands for anything
--   ```                                 without="words": leaves out lines with these words
--   `14, SIZE, VERSION, COLUMN`{.bench}           a number from plots/data/GPU/14_*.csv. `… over …`{.bench}:
--                                       a quotient
--   ```{.bench lesson="14" size="SIZE" versions="a, b"}     a table of that file; the last column is the
--   ```                                 share of cuBLAS or of the copy, or with of="a" the speed beside a's
--   ```{.counters lesson="14" rows="words; words"}          of 14_*.counters.csv the lines with these words
--   ```
--   ![what it shows](figures/x.lua)     a drawing (draw.lua)
--   ![what it shows](plots/svg/x.svg)   any other picture, from the repository's root
--   ::: notes                           speaker notes
--   ::: {graded="21"}                   left out if lesson 21 is graded homework (make slides GRADED=21)
local input = PANDOC_STATE.input_files[1]
local here = PANDOC_SCRIPT_FILE:match("^(.*)/[^/]*$") or "."
local draw = dofile(here .. "/draw.lua")

-- Ends the build; `words` stand in the line at fault.
local function fail(message, ...)
    local number, found = 0, nil
    for line in io.lines(input) do
        number = number + 1
        local all = true
        for _, words in ipairs({...}) do all = all and line:find(words, 1, true) end
        if all and not found then found = number end
    end
    io.stderr:write(("%s:%s: %s\n"):format(input, found or "?", message))
    os.exit(1)
end

local records = dofile(here .. "/records.lua")(fail)
local lines_of, recorded, value_of, three_digits = records.lines_of, records.recorded, records.value_of, records.three_digits

-- Does the line contain the words? " … " among them stands for anything: "FAIL … causal".
local function has(line, words)
    local at = 1
    for part in (words .. " … "):gmatch("(.-) … ") do
        local _, last = line:find(part, at, true)
        if not last then return false end
        at = last + 1
    end
    return true
end

-- The number of the one line of `lines`, from `first` on, that contains `words`.
local function only(lines, words, first, path, ...)
    local found
    for n = first, #lines do
        if has(lines[n], words) then
            if found then fail(("\"%s\" is in lines %d and %d of %s: say more of it"):format(words, found, n, path), ...) end
            found = n
        end
    end
    return found or fail(("\"%s\" is in no line of %s"):format(words, path), ...)
end

-- ---- graded homework

-- What stands for code or answers of a lesson that GRADED_LESSONS names, "17_gqa 19_block_sparse";
-- nil for the others.
local function left_out(number)
    for graded in (os.getenv("GRADED_LESSONS") or ""):gmatch("%d%d") do
        if graded == number then
            local words = ("Lesson %s is graded homework: this is yours to find."):format(number)
            return pandoc.Div({pandoc.Para{pandoc.Str(words)}}, pandoc.Attr("", {"ask"}))
        end
    end
end

-- ---- code

local function include(block)
    local a = block.attributes
    local homework = left_out(a.include:match("^solutions/(%d%d)_"))
    if homework then return homework end
    local path, region, from, to = a.include, a.region, a.from, a.to
    local lines, first, last = lines_of(path, path), 1, nil
    if region then
        local marks = {}
        for n, line in ipairs(lines) do marks[n] = line:find("BEGIN SOLUTION", 1, true) and line or "" end
        first = only(marks, region, 1, path, path, region) + 1
        last = first
        while lines[last] and not lines[last]:find("END SOLUTION", 1, true) and not lines[last]:find("// AS GIVEN$") do
            last = last + 1
        end
        last = last - 1
    elseif from then
        first = only(lines, from, 1, path, path, from)
        last = first
        while not lines[last]:find(to or from, 1, true) do
            last = last + 1
            if not lines[last] then fail(("\"%s\" is in no line of %s after line %d"):format(to, path, first), path, from) end
        end
    else
        fail("an include needs a region, or from and to", path)
    end

    local kept, indent = {}, math.huge
    for n = first, last do
        local line = lines[n]
        local left_out = line:find("// BEGIN SOLUTION", 1, true) or line:find("// END SOLUTION", 1, true)
            or a.without and line:find(a.without, 1, true)
        if not left_out then
            kept[#kept + 1] = line
            if line:find("%S") and not line:find("^#") then indent = math.min(indent, #line:match("^ *")) end
        end
    end
    for n, line in ipairs(kept) do
        if not line:find("^#") then kept[n] = line:sub(indent + 1) end
    end
    block.text = table.concat(kept, "\n")
    block.attributes = {}
    local source = pandoc.Para{pandoc.Code(path:match("[^/]*$")), pandoc.Str(", from line " .. first)}
    return {block, pandoc.Div({source}, pandoc.Attr("", {"source"}))}
end

-- ---- recorded runs

local function bench(code)
    local above, below = code.text:match("^(.-) over (.*)$")
    if above then return pandoc.Str(three_digits(value_of(above, code.text) / value_of(below, code.text))) end
    return pandoc.Str(three_digits(value_of(code.text, code.text)))
end

local function bench_table(block)
    local a = block.attributes
    local rows, path = recorded(a.lesson, "", "lesson=\"" .. a.lesson)
    local function row_of(version)
        for _, row in ipairs(rows) do
            if row.size == a.size and row.version == version then return row end
        end
        fail(("%s has no line \"%s,%s\""):format(path, a.size, version), a.size)
    end
    local by_bytes = true
    for _, row in ipairs(rows) do by_bytes = by_bytes and (tonumber(row.tflops) or 0) == 0 end
    local rate, ceiling = "tflops", "cublas_tflops"
    if by_bytes then rate, ceiling = "gbytes_per_s", "copy_gbytes_per_s" end
    local peer = a.of and row_of(a.of)

    local html, any = {}, nil
    local function row(tag, name, ...)
        local cells = {("<tr><%s>%s</%s>"):format(tag, name, tag)}
        for _, cell in ipairs({...}) do cells[#cells + 1] = ("<%s class=\"number\">%s</%s>"):format(tag, cell, tag) end
        html[#html + 1] = table.concat(cells) .. "</tr>"
    end
    row("th", "version", "ms", by_bytes and "GB/s" or "TFLOP/s",
        "of " .. (a.of or by_bytes and "the copy rate" or "cuBLAS"))
    for version in (a.versions .. ","):gmatch("%s*(.-)%s*,") do
        any = row_of(version)
        if any.outcome == "verified" then
            row("td", version, ("%.3f"):format(any.median_ms), three_digits(tonumber(any[rate])),
                ("%.2f"):format(peer and peer.median_ms / any.median_ms or any[rate] / any[ceiling]))
        else
            row("td", version, any.outcome, "", "")
        end
    end
    return pandoc.RawBlock("html", ("<table>%s</table><p class=\"source\">%s. %s, CUDA %s, %s. %s</p>"):format(
        table.concat(html, "\n"), a.size, any.gpu, any.cuda, any.date,
        by_bytes and ("Copy: %d GB/s."):format(any[ceiling]) or ("cuBLAS: %.0f TFLOP/s."):format(any[ceiling])))
end

-- The columns up to `gpu` of the lines asked for, in their order.
local function counters(block)
    local a = block.attributes
    local rows, path, names = recorded(a.lesson, ".counters", "lesson=\"" .. a.lesson)
    local html, last = {}, 1
    while names[last + 1] ~= "gpu" do last = last + 1 end
    local function row(tag, cells)
        html[#html + 1] = ("<tr><%s>%s</%s>"):format(tag, cells[1], tag)
        for n = 2, last do html[#html + 1] = ("<%s class=\"number\">%s</%s>"):format(tag, cells[n], tag) end
        html[#html + 1] = "</tr>"
    end
    row("th", names)
    for words in (a.rows .. ";"):gmatch("%s*(.-)%s*;") do
        local found
        for _, line in ipairs(rows) do
            if line[1]:find(words, 1, true) then found = line end
        end
        row("td", found or fail(("%s has no line with \"%s\""):format(path, words), words))
    end
    return pandoc.RawBlock("html", ("<table>%s</table><p class=\"source\">%s, CUDA %s, %s. Counted by Nsight Compute.</p>"):format(
        table.concat(html), rows[1].gpu, rows[1].cuda, rows[1].date))
end

-- ---- pictures

local function picture(image)
    local alt = pandoc.utils.stringify(image.caption or {})
    if image.src:match("%.lua$") then
        local path = here .. "/" .. image.src
        lines_of(path, image.src)
        return pandoc.RawInline("html", draw(path, alt, function(text) return value_of(text, image.src) end))
    end
    local bytes = table.concat(lines_of(image.src, image.src), "\n")
    if not image.src:match("%.svg$") then fail("a picture is a .svg or a drawing", image.src) end
    local escaped = bytes:gsub("[^%w%-_.~ /:=;,]", function(c) return ("%%%02X"):format(c:byte()) end)
    local size = ""
    for name, value in pairs(image.attributes) do size = size .. (" %s=\"%s\""):format(name, value) end
    return pandoc.RawInline("html", ("<img alt=\"%s\"%s src=\"data:image/svg+xml,%s\">"):format(
        alt:gsub("\"", "&quot;"), size, escaped))
end

return {{
    CodeBlock = function(block)
        if block.attributes.include then return include(block) end
        if block.classes:includes("bench") then return bench_table(block) end
        if block.classes:includes("counters") then return counters(block) end
    end,
    Div = function(block)
        local homework = left_out(block.attributes.graded)
        return homework and block.classes:includes("notes") and {} or homework
    end,
    Code = function(code)
        if code.classes:includes("bench") then return bench(code) end
    end,
    Image = picture,
}}
