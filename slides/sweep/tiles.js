// tiles.js: what both passes share: the inputs, tables of numbers, words.
const f32 = Math.fround;
const BLOCK = 4;    // BLOCK_Q, BLOCK_K and d: a thread has one element of S and one of O
const MAX_N = 16;   // the largest N_q and N_k
const SCALE = 0.5;  // 1 / sqrt(d)

const list = (first, count) => Array.from({length: count}, (_, n) => String(first + n));

// ---- the inputs: those of grader/trace/main.c ----

let drawn = 1;
function draw() {  // quarters from -2 to 2, which fp16 and bf16 have
    drawn = (Math.imul(drawn, 1664525) + 1013904223) >>> 0;
    return ((drawn >>> 24) % 17 - 8) / 4;
}
function matrix(rows, columns, element) {
    return Array.from({length: rows}, (_, r) => Array.from({length: columns}, (_, c) => element(r, c)));
}
const [Q, K, V, dO] = list(0, 4).map(() => matrix(MAX_N, BLOCK, draw));

// ---- tables ----

const element = id => document.getElementById(id);
function make(parent, tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
}
function show(x) {
    if (x === Infinity || x === -Infinity) return x < 0 ? "\u2212\u221e" : "\u221e";
    return x.toFixed(3).replace(/^-(?=0\.000$)/, "").replace("-", "\u2212");
}
// Of the page to blue: lightness alone tells the order, on paper and without colours as well. By day the page is white,
// by night nearly black, as the reader's system has it.
const dark = matchMedia("(prefers-color-scheme: dark)");
function heat(cell, t) {
    const [from, to] = dark.matches ? [[21, 24, 28], [150, 205, 255]] : [[255, 255, 255], [10, 60, 125]];
    const colour = from.map((c, n) => Math.round(c + (to[n] - c) * t));
    const [red, green, blue] = colour.map(c => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    cell.style.backgroundColor = `rgb(${colour.join(", ")})`;
    // Black and white have the same contrast where the luminance is 0.179.
    cell.style.color = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}

// Fills a table with numbers. rows, columns: what they are called, or null; shade(x, c): how dark, 0 to 1, or null;
// isHidden(r, c): neither a query nor a key that the row sees; chosen: the row to mark, or -1.
function fill(id, numbers, {rows, columns, shade, isHidden, chosen = -1, stale}) {
    const table = element(id);
    table.querySelectorAll("thead, tbody").forEach(part => part.remove());
    table.classList.toggle("stale", Boolean(stale));
    if (columns) {
        const head = make(make(table, "thead"), "tr");
        if (rows) make(head, "th");
        columns.forEach(name => make(head, "th", "", name));
    }
    const body = make(table, "tbody");
    for (let r = 0; r < BLOCK; r++) {
        const line = make(body, "tr", r === chosen ? "chosen" : "");
        if (rows) make(line, "th", "", (r === chosen ? "\u25b6" : "") + rows[r]);
        const width = numbers ? numbers[r].length : BLOCK;
        for (let c = 0; c < width; c++) {
            const x = numbers ? numbers[r][c] : null, cell = make(line, "td");
            make(cell, "span", "", x === null ? "\u2013" : show(x));
            if (x !== null) cell.dataset.value = String(x);
            if (numbers && isHidden && isHidden(r, c)) cell.className = "hidden";
            else if (x !== null && shade && shade(x, c) !== null) heat(cell, shade(x, c));
        }
    }
}

// ---- words ----

function vector(numbers) {
    return "(" + numbers.map(show).join(", ") + ")";
}
// What is missing from `part` to `sum`, of the digits that are shown: a reader who adds them finds the sum that is shown.
const rounded = x => Number.isFinite(x) ? Number(x.toFixed(3)) : x;
function missing(sum, part) {
    return Array.isArray(sum) ? sum.map((x, n) => missing(x, part[n])) : rounded(sum) - rounded(part);
}
const named = (what, which) => ` ${what}${which.length > 1 ? "s" : ""} ${which.join(", ")}`;
const tiles = n => Math.ceil(n / BLOCK);
// The rows of a tile, zeros beyond the last.
const rowsOf = (all, tile, n) =>
    matrix(BLOCK, BLOCK, (r, x) => tile * BLOCK + r < n ? all[tile * BLOCK + r][x] : 0);
const countOf = (tile, n) => Math.min(BLOCK, n - tile * BLOCK);
const inMap = (map, name) => [...element(map).querySelectorAll(".edge")].find(e => e.dataset.of === name);
