// check.js: walks through slides/sweep/index.html with the keyboard and compares what it shows with
// TRACES, the JSON of `make trace`, and with attention computed in double: the cases whose names
// match WALKED. sweep.sh puts all this behind the page's own script, in a window that is 1280 wide.
// What is found is told at the end of the page, in lines "ok NAME" and "FAIL NAME: WHERE", then
// "end".
"use strict";
{  // the page has names of its own
const LIMIT = 1e-5;        // how far numbers may differ
const SMALLEST = 15;       // px of text on a screen of 1280
const LEAST_CONTRAST = 4.5;  // of text and what is behind it, also for who sees no colours (WCAG 2, AA)

let verdict = "\n";
function tell(name, problem) {
    verdict += problem ? `FAIL ${name}: ${problem}\n` : `ok ${name}\n`;
}

const body = document.body;
const at = id => document.getElementById(id);
const count = text => text.match(/\d+/g).map(Number);

// The key as the page gets it. Returns whether the page has taken it for itself.
function press(key, target = body) {
    return !target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
}

// ---- numbers ----

const numbersOf = id => [...at(id).tBodies[0].rows].map(row =>
    [...row.cells].filter(c => c.tagName === "TD").map(c => c.dataset.value === undefined ? null : Number(c.dataset.value)));
const number = x => x === "-inf" ? -Infinity : x;  // of a trace

// What is wrong with a list or a matrix, or "".
function differs(name, got, want) {
    if (Array.isArray(want)) {
        if (!got || got.length !== want.length) return `${name} has another size`;
        for (let n = 0; n < want.length; n++) {
            const problem = differs(`${name}[${n}]`, got[n], want[n]);
            if (problem) return problem;
        }
        return "";
    }
    const wanted = number(want);
    return got === wanted || Math.abs(got - wanted) <= LIMIT ? "" : `${name} is ${got}, not ${wanted}`;
}

// Each number is shown as it is, but for digits.
function shownWrong() {
    for (const cell of document.querySelectorAll("td[data-value]")) {
        const value = Number(cell.dataset.value), text = cell.textContent.replace("\u2212", "-").replace("\u221e", "Infinity");
        if (!(Number(text) === value || Math.abs(Number(text) - value) <= 0.000501)) return `${value} is shown as ${text}`;
    }
    return "";
}

// What a worked line adds, it adds as shown, to the last digit.
function addsWrong() {
    const term = String.raw`(\([^()]*\)|\u2212?\d[\d.]*)`, text = at("worked").textContent;
    const thousandths = list => list.replace(/[()]/g, "").split(",").map(x => Math.round(1000 * Number(x.replace("\u2212", "-"))));
    for (const [sum, ...terms] of text.matchAll(new RegExp(`${term} \\+ ${term} = ${term}`, "g"))) {
        const [a, b, c] = terms.map(thousandths);
        if (c.some((x, n) => a[n] + b[n] !== x)) return sum;
    }
    return "";
}

// ---- attention, in double, by its definition ----

function attention(c) {
    const sees = (i, j) => (!c.causal || j <= i + c.N_k - c.N_q)
        && (!c.mask || c.mask[Math.floor(i / c.block_q)][Math.floor(j / c.block_k)] === 1);
    const O = [], LSE = [];
    for (let i = 0; i < c.N_q; i++) {
        const weights = c.K.map((key, j) => sees(i, j) ? Math.exp(c.scale * key.reduce((s, y, x) => s + y * c.Q[i][x], 0)) : 0);
        const sum = weights.reduce((s, w) => s + w, 0);
        O.push(c.Q[i].map((_, x) => sum > 0 ? weights.reduce((s, w, j) => s + w * c.V[j][x], 0) / sum : 0));
        LSE.push(Math.log(sum));
    }
    return {O, LSE};
}

// dQ, dK and dV by their definition, with the O of the trace, which is rounded; and delta.
function gradients(c) {
    const dot = (a, b) => a.reduce((s, y, x) => s + y * b[x], 0), zeros = rows => rows.map(row => row.map(() => 0));
    const dQ = zeros(c.Q), dK = zeros(c.K), dV = zeros(c.V), delta = c.dO.map((row, i) => dot(row, c.O[i]));
    const LSE = attention(c).LSE;
    for (let i = 0; i < c.N_q; i++)
        for (let j = 0; j < c.N_k && (!c.causal || j <= i + c.N_k - c.N_q); j++) {
            const P = Math.exp(c.scale * dot(c.Q[i], c.K[j]) - LSE[i]);
            const dS = P * (dot(c.dO[i], c.V[j]) - delta[i]) * c.scale;
            for (let x = 0; x < c.d; x++) {
                dQ[i][x] += dS * c.K[j][x];
                dK[j][x] += dS * c.Q[i][x];
                dV[j][x] += P * c.dO[i][x];
            }
        }
    return {dQ, dK, dV, delta, LSE};
}

// ---- how it looks ----

function luminance(colour) {
    const [r, g, b] = count(colour).map(v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function behind(node) {  // the colour of the nearest box that has one
    for (; node; node = node.parentElement) {
        const colour = getComputedStyle(node).backgroundColor;
        if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
}

function looksWrong() {
    const texts = [], walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, text = node.textContent.trim();
        if (!text || node.parentElement.tagName === "SCRIPT") continue;
        const style = getComputedStyle(node.parentElement), range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) {
            if (box.left < 0 || box.top < 0 || box.right > 1280 || box.bottom > 720) return `"${text}" stands outside`;
            const cell = node.parentElement.closest("td, .map div");
            const around = cell && cell.getBoundingClientRect();
            if (cell && (box.left < around.left || box.right > around.right)) return `"${text}" is wider than its cell`;
            // Lines of text are as tall as their letters never are.
            for (const other of texts)
                if (box.left < other.box.right - 1 && other.box.left < box.right - 1
                    && box.top < other.box.bottom - 5 && other.box.top < box.bottom - 5)
                    return `"${text}" stands on "${other.text}"`;
            texts.push({text, box});
        }
        const isIndex = node.parentElement.matches("sub, sup");
        if (parseFloat(style.fontSize) < SMALLEST && !isIndex) return `"${text}" is ${style.fontSize} small`;
        const [a, b] = [luminance(style.color), luminance(behind(node.parentElement))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        // While colours fade, the one that is computed is no one's.
        if (!moves() && contrast < LEAST_CONTRAST) return `"${text}" has a contrast of ${contrast.toFixed(1)}`;
    }
    return "";
}
const moves = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

// ---- a step ----

const rowsOf = (all, tile, size) =>
    Array.from({length: size}, (_, r) => all[tile * size + r] || all[0].map(() => 0));

function tileWrong(c, traced) {
    const state = numbersOf("state"), K = numbersOf("K");
    return differs("Q", numbersOf("Q"), rowsOf(c.Q, traced.q_tile, c.block_q))
        || differs("K", K[0].map((_, j) => K.map(row => row[j])), rowsOf(c.K, traced.k_tile, c.block_k))
        || differs("V", numbersOf("V"), rowsOf(c.V, traced.k_tile, c.block_k))
        || differs("S", numbersOf("S"), traced.S)
        || differs("m", state.map(row => row[1]), traced.m)
        || differs("alpha", state.map(row => row[2]), traced.alpha)
        || differs("l", state.map(row => row[3]), traced.l)
        || differs("O", numbersOf("O"), traced.O);
}

// To the nearest bf16, ties to even: the upper half of the bits of an fp32.
function bf16round(x) {
    const bits = new Uint32Array(Float32Array.of(x).buffer);
    bits[0] = (bits[0] + 0x7fff + (bits[0] >>> 16 & 1)) & 0xffff0000;
    return new Float32Array(bits.buffer)[0];
}

// The rows of a Q tile as they are stored: O in fp32 beside the right answer, rounded to 16 bits
// beside what the kernel stored.
function storeWrong(c, right, q) {
    const O = numbersOf("O"), LSE = numbersOf("state").map(row => row[4]);
    for (let r = 0, i = q * c.block_q; r < c.block_q && i < c.N_q; r++, i++) {
        const problem = differs(`O[${i}]`, O[r], right.O[i]) || differs(`LSE[${i}]`, LSE[r], right.LSE[i])
            || differs(`LSE[${i}] of the trace`, LSE[r], c.LSE[i])
            || differs(`O[${i}] of the trace`, O[r].map(c.dtype === "bf16" ? bf16round : Math.f16round), c.O[i]);
        if (problem) return problem;
    }
    return "";
}

// Which tiles the map calls skipped, and which one `now`.
function mapWrong(c, step) {
    const drawn = [...document.querySelectorAll(c.backward ? "#columns .tile" : "#map .tile")], T_k = Math.ceil(c.N_k / c.block_k);
    if (drawn.length !== T_k * Math.ceil(c.N_q / c.block_q)) return "the map has another number of tiles";
    for (let n = 0; n < drawn.length; n++) {
        const q = Math.floor(n / T_k), k = n % T_k, isSkipped = !c.steps.some(s => s.q_tile === q && s.k_tile === k);
        if (isSkipped !== (drawn[n].textContent === "skip")) return `tile ${q}, ${k} of the map is not skipped as in the kernel`;
        if ((q === step.q && k === step.k) !== (drawn[n].textContent === "now")) return `tile ${q}, ${k} of the map`;
    }
    return "";
}

// ---- a mode ----

const where = () => ({q: Number(body.dataset.q), k: Number(body.dataset.k), step: count(at("where").textContent)});
const whole = () => at("map").textContent + at("columns").textContent + [...document.querySelectorAll("td")].map(c => c.dataset.value).join(" ");

const nameOf = c => (c.backward ? "backward " : "") + c.name;
function walk(c, n) {
    const problems = {numbers: "", result: "", map: "", bytes: "", sums: "", looks: "", keys: ""};
    const note = (what, step, problem) => { if (problem && !problems[what]) problems[what] = `step ${step.step[0]}: ${problem}`; };
    const look = here => {
        note("map", here, mapWrong(c, here));
        note("looks", here, looksWrong());
        note("sums", here, addsWrong());
    };
    // A step on, and once back and forth. What the step before showed.
    const step = here => {
        const now = whole();
        press("ArrowRight");
        if (where().step[0] < here.step[1]) {
            press("ArrowLeft");
            if (whole() !== now) note("keys", here, "back and forth changes something");
            press("ArrowRight");
        }
        return now;
    };
    begin(c, n, problems);
    const earlier = (c.backward ? walkBackward : walkForward)(c, problems, note, look, step);
    press("Home");
    if (where().step[0] !== 1) problems.keys = "Home";
    press("End");
    if (where().step[0] !== where().step[1] || whole() !== earlier) problems.keys = "End";
    const name = nameOf(c);
    tell(c.backward ? `${name}: Q, dO, K, V, P, dS, dK, dV and dQ of each tile are the kernel's`
                    : `${name}: Q, K, V, S, m, l, alpha, O of each tile are the kernel's`, problems.numbers);
    tell(`${name}: ${c.backward ? "delta, dQ, dK and dV" : "O and LSE"} are right, and what the kernel stores`, problems.result);
    tell(`${name}: skipped is what the kernel skips`, problems.map);
    tell(`${name}: bytes`, problems.bytes);
    tell(`${name}: sums are those of the numbers shown`, problems.sums);
    tell(`${name}: legible at 1280 x 720`, problems.looks);
    tell(`${name}: keys`, problems.keys);
}

function begin(c, n, problems) {
    press(c.backward ? "b" : "f");
    press(String(n));
    press("Home");
    const pressed = [...document.querySelectorAll("#modes button")].filter(b => b.getAttribute("aria-pressed") === "true");
    if (body.dataset.mode !== c.name || pressed.length !== 1 || !pressed[0].textContent.endsWith(c.name))
        problems.keys = `key ${n} chooses ${body.dataset.mode}`;
}

function walkForward(c, problems, note, look, step) {
    const right = attention(c);
    let tile = 0, bytes = 0, here, earlier = "";
    for (let stored = 0; stored < Math.ceil(c.N_q / c.block_q);) {
        here = where();
        if (here.k >= 0) {
            const traced = c.steps[tile++];
            if (!traced || traced.q_tile !== here.q || traced.k_tile !== here.k) {
                note("numbers", here, `tile ${here.q}, ${here.k} is not the one that the kernel computes`);
                break;
            }
            note("numbers", here, tileWrong(c, traced) || shownWrong());
            bytes += 2 * Math.min(c.block_k, c.N_k - here.k * c.block_k) * c.d * 2;
        } else {
            note("result", here, storeWrong(c, right, here.q) || shownWrong());
            stored++;
        }
        look(here);
        earlier = step(here);
    }
    if (tile !== c.steps.length) note("numbers", here, `${tile} tiles, the kernel computes ${c.steps.length}`);
    const [read, written] = count(at("traffic").textContent);
    if (read !== bytes + c.N_q * c.d * 2 || written !== c.N_q * (c.d * 2 + 4)) problems.bytes = at("traffic").textContent;
    return earlier;
}

// A tile of lesson 15's trace; sums: dQ_sum after it, by the shares of the trace.
function passWrong(c, traced, sums) {
    const shown = steps[where().step[0] - 1], P = numbersOf("bP"), dS = numbersOf("bdS"), first = traced.q_tile * c.block_q;
    const rows = (all, size) => rowsOf(all, traced.q_tile, size), keys = all => rowsOf(all, traced.k_tile, c.block_k);
    const of = (all, r) => first + r < c.N_q ? all[first + r] : 0;
    return differs("Q", numbersOf("bQ"), rows(c.Q, c.block_q)) || differs("dO", numbersOf("bdO"), rows(c.dO, c.block_q))
        || differs("K", numbersOf("bK"), keys(c.K)) || differs("V", numbersOf("bV"), keys(c.V))
        || differs("S", shown.S, traced.S) || differs("dP", shown.dP, traced.dP)
        || differs("LSE", P.map(row => row[0]), P.map((_, r) => of(c.LSE, r)))
        || differs("P", P.map(row => row.slice(1)), traced.P) || differs("dS", dS.map(row => row.slice(1)), traced.dS)
        || differs("dK", numbersOf("bdK"), traced.dK) || differs("dV", numbersOf("bdV"), traced.dV)
        || differs("dQ_sum", numbersOf("bdQ"), rowsOf(sums, traced.q_tile, c.block_q));
}

// Rows that are stored: beside the right answer, and beside the kernel's in fp16, which is off by half an ulp.
function storedWrong(name, table, right, stored, tile, size) {
    const rows = numbersOf(table);
    for (let r = 0, n = tile * size; r < size && n < stored.length; r++, n++) {
        const problem = differs(`${name}[${n}]`, rows[r], right[n]);
        if (problem) return problem;
        for (let x = 0; x < rows[r].length; x++)
            if (!(Math.abs(rows[r][x] - stored[n][x]) <= Math.abs(stored[n][x]) * 2 ** -11 + LIMIT))
                return `${name}[${n}][${x}] is ${rows[r][x]}, the kernel's ${stored[n][x]}`;
    }
    return "";
}

function walkBackward(c, problems, note, look, step) {
    const right = gradients(c), sums = c.Q.map(row => row.map(() => 0)), rows = q => Math.min(c.block_q, c.N_q - q * c.block_q);
    const T_q = Math.ceil(c.N_q / c.block_q);
    let tile = 0, passed = 0, here, earlier = "";
    for (let rounded = 0; rounded < T_q;) {
        here = where();
        if (here.q >= 0 && here.k >= 0) {
            const traced = c.steps[tile++];
            if (!traced || traced.q_tile !== here.q || traced.k_tile !== here.k) {
                note("numbers", here, `tile ${here.q}, ${here.k} is not the one that the kernel computes`);
                break;
            }
            for (let r = 0; r < rows(here.q); r++) traced.dQ[r].forEach((x, n) => { sums[here.q * c.block_q + r][n] += x; });
            note("numbers", here, passWrong(c, traced, sums) || shownWrong());
            passed += rows(here.q);
        } else if (here.q < 0) {
            note("result", here, storedWrong("dK", "bdK", right.dK, c.dK, here.k, c.block_k)
                || storedWrong("dV", "bdV", right.dV, c.dV, here.k, c.block_k) || shownWrong());
        } else if (tile === 0) {
            const delta = numbersOf("bdS").map(row => row[0]).slice(0, rows(here.q));
            note("result", here, differs("delta", delta, delta.map((_, r) => right.delta[here.q * c.block_q + r])) || shownWrong());
        } else {
            note("result", here, storedWrong("dQ", "bdQ", right.dQ, c.dQ, here.q, c.block_q) || shownWrong());
            rounded++;
        }
        look(here);
        earlier = step(here);
    }
    if (tile !== c.steps.length) note("numbers", here, `${tile} tiles, the kernel computes ${c.steps.length}`);
    const [read, written, added] = count(at("btraffic").textContent), row = c.d * 2;
    if (read !== c.N_q * 2 * row + c.N_k * 2 * row + passed * (2 * row + 8) + c.N_q * c.d * 4
        || written !== c.N_q * (4 + c.d * 4 + row) + c.N_k * 2 * row || added !== passed * c.d * 4)
        problems.bytes = at("btraffic").textContent;
    return earlier;
}

// ---- the controls ----

function controls() {
    // The clock of the page is stopped: it plays when tick() is called, and tick is null when it
    // does not.
    let tick = null;
    let every = 0;
    window.setInterval = (action, ms) => { tick = action; every = ms; return 1; };
    window.clearInterval = () => { tick = null; };

    press("1");
    const first = at("worked").textContent;
    press("ArrowDown");
    const second = at("worked").textContent;
    press("ArrowUp");
    tell("arrows up and down choose the row", first === second || at("worked").textContent !== first ? second : "");

    at("slider").value = 3;
    at("slider").dispatchEvent(new Event("input"));
    tell("the slider", where().step[0] === 4 ? "" : `step ${where().step[0]}`);
    tell("arrows step with the slider in focus", press("ArrowRight", at("slider")) && where().step[0] === 5 ? "" : `step ${where().step[0]}`);

    press(" ");
    if (tick) tick();
    const played = where().step[0];
    press(" ");
    tell("space plays and pauses", played === 6 && !tick ? "" : `step ${played}, ${tick ? "still" : "not"} playing`);
    press("End");
    press(" ");
    const [started, steps] = where().step;
    for (let n = 0; tick && n < 2 * steps; n++) tick();
    tell("play at the end starts over, and stops there", started === 1 && !tick && where().step[0] === steps ? ""
         : `from step ${started} to ${where().step[0]} of ${steps}`);
    press(" ");
    const usual = every;
    press("+");
    const fast = every, said = at("speed").textContent;
    press("-");
    press("-");
    tell("plus and minus change the speed while it plays", fast === usual / 2 && every === usual * 2 && said === "2\u00d7" ? ""
         : `${usual}, ${fast}, ${every} ms, ${said}`);
    press("+");
    press(" ");

    // What flies is what is counted: K and V at a second tile, K, V and Q at a block's first.
    for (const [key, id] of [["f", "traffic"], ["b", "btraffic"]]) {
        const counted = () => count(at(id).textContent).reduce((sum, x) => sum + x, 0);
        let problem = "";
        press(key);
        for (let here = 1; here < where().step[1]; here++) {
            const from = counted();
            press("ArrowRight");
            const fly = [...document.querySelectorAll(".flying")].reduce((sum, e) => sum + Number(e.dataset.bytes), 0);
            if (fly !== (moves() ? counted() - from : 0)) problem = `step ${here + 1}: ${fly} bytes fly`;
        }
        tell(`${body.dataset.pass}: the bytes that are counted move between HBM and the block`, problem);
    }
    press("f");
    tell("a button in focus keeps its space", press(" ", at("next")) ? "taken" : "");

    const duration = getComputedStyle(document.querySelector("td")).transitionDuration;
    tell(`colours: ${matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"}`, "");
    tell(`motion: ${moves() ? "as usual" : "reduced"}`, (duration === "0s") === moves() ? `fades in ${duration}` : "");
    const loads = [...document.querySelectorAll("[src], link, iframe, object")].map(e => e.outerHTML);
    tell("the page loads nothing", loads.concat(performance.getEntriesByType("resource").map(e => e.name)).join(" "));
}

try {
    const cases = TRACES.flatMap(trace => trace.cases);
    for (const backward of [false, true]) {
        const of = cases.filter(c => c.backward === backward);
        press(backward ? "b" : "f");
        const names = [...document.querySelectorAll("#modes button")].map(b => b.textContent.slice(2));
        tell(`the modes ${body.dataset.pass} are the traced cases`, names.join() === of.map(c => c.name).join() ? "" : names.join());
        of.forEach((c, n) => { if (WALKED.test(nameOf(c))) walk(c, n + 1); });
    }
    press("f");
    controls();
} catch (error) {
    tell("the page", String(error.stack).replace(/\n/g, " "));
}
const told = document.createElement("pre");
told.id = "verdict";
told.textContent = verdict + "end\n";
body.append(told);
}
