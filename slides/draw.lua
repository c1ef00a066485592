-- draw.lua: the figures of the decks. A figure is a few lines of Lua in figures/, run with the
-- functions below; the result is one <svg>. A unit is a pixel of the slide; text is 20 units high
-- unless it says otherwise. Each colour comes with a pattern of its own, for black and white.
--
--   size(width, height)
--   box(x, y, w, h, {fill=, text=, sub=, dash=, size=, bold=, mono=})     text in the middle, sub below it
--   text(x, y, "words", {size=, at="start"|"middle"|"end", bold=, mono=, color=, turn=degrees})
--   line(x1, y1, x2, y2, {dash=, color=, wide=})     arrow: the same, with a head at the end
--   path("M 0 0 C …", {head=true, dash=, color=, wide=})
--   cells(x, y, columns, rows, width, height, function(c, r) return fill, "text" end)    from 0
--   step()                             what follows comes with the next step of the slide; all in print
--
--   bench("14, SIZE, VERSION, COLUMN")                                     a recorded number (records.lua)
--
-- A fill is a name of `colors`, or nil for white.
local colors = {
    -- name: strong, tint, pattern (direction of the lines)
    blue = {"#0072b2", "#cfe6f4", "none"},
    sky = {"#3a9ad0", "#e3f2fb", "right"},
    orange = {"#b87800", "#fbe7bf", "left"},
    green = {"#00785a", "#c9ebdf", "flat"},
    yellow = {"#9a8f00", "#fbf7c4", "dots"},
    red = {"#c04f00", "#f8d9c6", "cross"},
    purple = {"#a5527f", "#f3dbe8", "up"},
    grey = {"#777777", "#e4e4e4", "none"},
    white = {"#111111", "#ffffff", "none"},
}
local patterns = {
    right = "M0 12 L12 0", left = "M0 0 L12 12", flat = "M0 6 H12", up = "M6 0 V12",
    cross = "M0 0 L12 12 M0 12 L12 0", dots = "M5 6 h2",
}
local figures = 0

local function escape(words)
    return (tostring(words):gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"))
end

return function(path, alt, bench)
    figures = figures + 1
    local id, out, used, width, height = "f" .. figures, {}, {}, nil, nil
    local function add(...) out[#out + 1] = string.format(...) end
    local function stroke(o)
        local color = colors[o.color or "white"]
        return ("stroke=\"%s\" stroke-width=\"%s\"%s"):format(color[1], o.wide or 2, o.dash and " stroke-dasharray=\"8 6\"" or "")
    end
    local f = {bench = bench, ipairs = ipairs, math = math, string = string, tostring = tostring}

    function f.size(w, h) width, height = w, h end

    function f.text(x, y, words, o)
        o = o or {}
        add("<text x=\"%g\" y=\"%g\" font-size=\"%g\" text-anchor=\"%s\" fill=\"%s\"%s%s%s>%s</text>",
            x, y, o.size or 20, o.at or "start", o.color and colors[o.color][1] or "#111",
            o.bold and " font-weight=\"bold\"" or "", o.mono and " class=\"mono\"" or "",
            o.turn and (" transform=\"rotate(%g %g %g)\""):format(o.turn, x, y) or "", escape(words))
    end

    function f.box(x, y, w, h, o)
        o = o or {}
        local color = colors[o.fill or "white"]
        if not color then error(path .. ": no colour " .. o.fill, 0) end
        used[o.fill or "white"] = color
        add("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"url(#%s%s)\" stroke=\"%s\" stroke-width=\"%g\"%s/>",
            x, y, w, h, id, o.fill or "white", color[1], o.wide or 2, o.dash and " stroke-dasharray=\"8 6\"" or "")
        local size = o.size or 20
        -- A rim of the tint keeps words readable on a pattern.
        if o.text and o.text ~= "" then
            out[#out + 1] = ("<g paint-order=\"stroke\" stroke=\"%s\" stroke-width=\"5\" stroke-linejoin=\"round\">"):format(color[2])
            local middle = y + h / 2 + size * 0.35
            f.text(x + w / 2, o.sub and middle - size * 0.6 or middle, o.text, {at = "middle", size = size, bold = o.bold, mono = o.mono})
            if o.sub then f.text(x + w / 2, middle + size * 0.65, o.sub, {at = "middle", size = math.max(18, size - 2), mono = o.mono}) end
            out[#out + 1] = "</g>"
        end
    end

    function f.path(d, o)
        o = o or {}
        add("<path d=\"%s\" fill=\"none\" %s%s/>", d, stroke(o), o.head and (" marker-end=\"url(#%shead)\""):format(id) or "")
    end
    function f.line(x1, y1, x2, y2, o) f.path(("M %g %g L %g %g"):format(x1, y1, x2, y2), o) end
    function f.arrow(x1, y1, x2, y2, o)
        local with_head = {head = true}
        for k, v in pairs(o or {}) do with_head[k] = v end
        f.line(x1, y1, x2, y2, with_head)
    end

    function f.cells(x, y, columns, rows, w, h, what, o)
        for r = 0, rows - 1 do
            for c = 0, columns - 1 do
                local fill, words = what(c, r)
                local how = {fill = fill, text = words, wide = 1.5}
                for k, v in pairs(o or {}) do how[k] = v end
                f.box(x + c * w, y + r * h, w, h, how)
            end
        end
    end

    local steps = 0
    function f.step()
        out[#out + 1] = (steps > 0 and "</g>" or "") .. "<g class=\"step\">"
        steps = steps + 1
    end

    local run, why = loadfile(path, "t", f)
    if not run then error(why, 0) end
    run()
    if steps > 0 then out[#out + 1] = "</g>" end
    if not width then error(path .. ": says no size()", 0) end

    local defs = {("<marker id=\"%shead\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\">"
        .. "<path d=\"M0 0 L10 5 L0 10 z\" fill=\"context-stroke\"/></marker>"):format(id)}
    for name, color in pairs(used) do
        defs[#defs + 1] = ("<pattern id=\"%s%s\" width=\"12\" height=\"12\" patternUnits=\"userSpaceOnUse\"><rect width=\"12\" height=\"12\" fill=\"%s\"/>%s</pattern>"):format(
            id, name, color[2], patterns[color[3]] and ("<path d=\"%s\" stroke=\"%s\" stroke-opacity=\"0.35\" stroke-width=\"1.5\"/>"):format(patterns[color[3]], color[1]) or "")
    end
    table.sort(defs) -- pairs() has no order, and a build shall be repeatable
    return ("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"%s\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\"><defs>%s</defs>%s</svg>"):format(
        escape(alt):gsub("\"", "&quot;"), width, height, width, height, table.concat(defs), table.concat(out, "\n"))
end
