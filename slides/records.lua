-- records.lua: the recorded runs, for decks and figures.
--   local records = dofile("slides/records.lua")(fail)
-- fail(message, words...) does not return; the words stand in the line of the source that asked.
return function(fail)
    local function lines_of(path, ...)
        local file = io.open(path)
        if not file then fail("there is no file " .. path, ...) end
        local lines = {}
        for line in file:lines() do lines[#lines + 1] = line end
        file:close()
        return lines
    end

    -- plots/data/GPU/LESSON_*.csv of the first GPU as rows, each a table by column name, and in the
    -- columns' order; and its path. kind: "", or ".counters" and the like.
    local function recorded(lesson, kind, ...)
        if not lesson:match("^%d+$") then fail("a lesson is a number, not " .. lesson, ...) end
        local matches = {}
        local list = io.popen(("ls plots/data/*/%s_*%s.csv 2>/dev/null"):format(lesson, kind))
        for path in list:lines() do
            if path:match("/%d+_[%w_]*" .. kind:gsub("%.", "%%.") .. "%.csv$") then matches[#matches + 1] = path end
        end
        list:close()
        if not matches[1] then fail("no run is recorded of lesson " .. lesson, ...) end
        local names, rows = nil, {}
        for _, line in ipairs(lines_of(matches[1], ...)) do
            local row, n = {}, 0
            for value in (line .. ","):gmatch("([^,]*),") do
                n = n + 1
                row[n] = value
                if names then row[names[n]] = value end
            end
            if names then rows[#rows + 1] = row else names = row end
        end
        return rows, matches[1], names
    end

    -- Three digits are what two runs agree in.
    local function three_digits(x)
        return (x >= 99.95 and "%.0f" or x >= 9.995 and "%.1f" or x >= 0.9995 and "%.2f" or "%.3f"):format(x)
    end

    local function value_of(text, code)
        local lesson, size, version, column = text:match("^%s*(.-),%s*(.-),%s*(.-),%s*(.-)%s*$")
        if not column then fail("a number is `LESSON, SIZE, VERSION, COLUMN`", code) end
        -- 29.kernels: a record of another kind; its first two columns are size and version
        local number, kind = lesson:match("^(%d+)(%.?%a*)$")
        local rows, path = recorded(number or lesson, kind or "", code)
        for _, row in ipairs(rows) do
            if row[1] == size and row[2] == version then
                return tonumber(row[column]) or fail(("%s has no number %s for that"):format(path, column), code)
            end
        end
        fail(("%s has no line \"%s,%s\""):format(path, size, version), code)
    end

    return {lines_of = lines_of, recorded = recorded, value_of = value_of, three_digits = three_digits}
end
