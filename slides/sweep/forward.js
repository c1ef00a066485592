// forward.js: a Q tile's sweep over the tiles of keys. Every number is computed here, in fp32 and in the order of the
// kernels of lessons 12, 13 and 19; grader/test/sweep.sh compares each with what `make trace` says of them.
"use strict";
// ---- the modes: the cases of grader/NN_name/trace.c ----

const FORWARD_MODES = [
    {name: "full", N_q: 16, N_k: 16,
     note: "Lesson 12. Every query sees every key. Each block sweeps over all tiles of K and V."},
    {name: "causal", N_q: 12, N_k: 16, causal: true,
     note: "Lesson 13. The last query sees all keys, each one above it one fewer: the mask is aligned at the bottom right. "
           + "What no row of a tile sees is not loaded."},
    {name: "ragged", N_q: 14, N_k: 13,
     note: "Lesson 13. 13 keys are 3 tiles and one key, 14 queries 3 tiles and two. Beyond the ends are zeros, "
           + "masked as keys, never stored as queries."},
    {name: "causal and ragged", N_q: 16, N_k: 13, causal: true,
     note: "Lesson 13. Three more queries than keys: the first three see nothing. Their m stays at \u2212\u221e, "
           + "their O is 0, their LSE \u2212\u221e."},
    {name: "block-sparse", N_q: 16, N_k: 16, dtype: "bf16", mask: [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 1]],
     note: "Lesson 19. A mask says which blocks exist, 128\u00a0\u00d7\u00a0128 scores there, one tile here. "
           + "A row of blocks without any is O = 0, LSE = \u2212\u221e."},
];

// How many keys query i sees, unless blocks are left out: [0, keysSeen).
function keysSeen(mode, i) {
    const seen = mode.causal ? i + 1 + mode.N_k - mode.N_q : mode.N_k;
    return Math.min(Math.max(seen, 0), mode.N_k);
}
// Is the tile computed? Hidden tiles are not even loaded.
function isVisited(mode, q, k) {
    return (!mode.mask || mode.mask[q][k] === 1) && k * BLOCK < keysSeen(mode, q * BLOCK + BLOCK - 1);
}
function isMasked(mode, q, k) {
    return (k + 1) * BLOCK > keysSeen(mode, q * BLOCK);
}

// ---- the kernel ----

// The sweep of a Q tile over a K/V tile: the state {m, l, O} before it, and all there is after it. Each operation is
// rounded to fp32, in the order in which the kernel does them.
function tileStep(mode, q, k, before) {
    const Qt = rowsOf(Q, q, mode.N_q), Kt = rowsOf(K, k, mode.N_k), Vt = rowsOf(V, k, mode.N_k);
    const S = matrix(BLOCK, BLOCK, (i, j) => {
        let sum = 0;
        for (let x = 0; x < BLOCK; x++) sum = f32(sum + f32(Qt[i][x] * Kt[j][x]));
        return k * BLOCK + j < keysSeen(mode, q * BLOCK + i) ? f32(SCALE * sum) : -Infinity;
    });
    const m = S.map((row, i) => Math.max(before.m[i], ...row));
    const base = m.map(x => x === -Infinity ? 0 : x);  // (-inf) - (-inf) would be NaN
    const alpha = m.map((_, i) => f32(Math.exp(f32(before.m[i] - base[i]))));
    const P = S.map((row, i) => row.map(s => f32(Math.exp(f32(s - base[i])))));
    const l = before.l.map((x, i) => P[i].reduce((sum, p) => f32(sum + p), f32(x * alpha[i])));
    const O = before.O.map((row, i) => row.map((o, x) => {
        let sum = f32(o * alpha[i]);
        for (let j = 0; j < BLOCK; j++) sum = f32(sum + f32(P[i][j] * Vt[j][x]));
        return sum;
    }));
    return {q, k, before, Q: Qt, K: Kt, V: Vt, S, m, base, alpha, P, l, O};
}

// The end of a Q tile: what is stored. `last` is its last step, or null if it has seen no tile.
function storeStep(mode, q, last, before) {
    const O = before.O.map((row, i) => row.map(o => before.l[i] > 0 ? f32(o / before.l[i]) : 0));
    const LSE = before.m.map((m, i) => f32(m + f32(Math.log(before.l[i]))));
    return {...last, q, k: -1, before, Q: rowsOf(Q, q, mode.N_q), m: before.m, l: before.l, alpha: null, O, LSE};
}

// All steps of a mode, the Q tiles one after the other. (On a GPU each has a block of its own, and they run at once.)
function sweep(mode) {
    const steps = [];
    let read = 0, written = 0;  // bytes of HBM: 16 bits but for LSE
    for (let q = 0; q < tiles(mode.N_q); q++) {
        let state = {m: Array(BLOCK).fill(-Infinity), l: Array(BLOCK).fill(0), O: matrix(BLOCK, BLOCK, () => 0)};
        let last = null;
        read += countOf(q, mode.N_q) * BLOCK * 2;
        for (let k = 0; k < tiles(mode.N_k); k++) {
            if (!isVisited(mode, q, k)) continue;
            read += 2 * countOf(k, mode.N_k) * BLOCK * 2;
            last = {...tileStep(mode, q, k, state), read, written};
            steps.push(last);
            state = last;
        }
        written += countOf(q, mode.N_q) * (BLOCK * 2 + 4);
        steps.push({...storeStep(mode, q, last, state), read, written});
    }
    return steps;
}

// ---- what is shown ----

function drawForwardMap(step) {
    const map = element("map"), T_q = tiles(mode.N_q), T_k = tiles(mode.N_k);
    map.textContent = "";
    const edge = (text, className, of = text) => { make(map, "div", className, text).dataset.of = of; };
    const isLoading = k => k === step.k ? "edge now" : "edge";
    for (const name of ["V", "K"]) {
        edge("", "");
        for (let k = 0; k < BLOCK; k++)
            if (k < T_k) edge(`${name} ${k}`, isLoading(k)); else edge("", "");
        for (let n = 0; n < 3; n++) edge("", "");
    }
    for (let q = 0; q < T_q; q++) {
        edge(`Q ${q}`, q === step.q ? "edge tall now" : "edge tall");
        for (let k = 0; k < BLOCK; k++) {
            const isNow = q === step.q && k === step.k, isStored = q < step.q || (q === step.q && step.k < 0);
            const state = !isVisited(mode, q, k) ? "skip" : isNow ? "now"
                        : isStored || (q === step.q && k < step.k) ? "done" : "";
            const tile = make(map, "div", k < T_k ? `tile ${state}` : "");
            if (k >= T_k) continue;
            for (let e = 0; state !== "skip" && e < BLOCK * BLOCK; e++) {
                const i = q * BLOCK + Math.floor(e / BLOCK), j = k * BLOCK + e % BLOCK;
                make(tile, "i", i < mode.N_q && j < keysSeen(mode, i) ? "" : "masked");
            }
            make(make(tile, "b"), "span", "", state);
        }
        edge("", "tall");
        const stored = q < step.q || (q === step.q && step.k < 0);
        const className = q === step.q && step.k < 0 ? "edge tall now" : stored ? "edge tall stored" : "edge tall";
        edge(stored ? `O ${q}` : "\u2013", className, `O ${q}`);
        edge(stored ? `LSE ${q}` : "\u2013", className, `LSE ${q}`);
    }
}

function forwardWorked(step) {
    const r = row, i = step.q * BLOCK + r, b = step.before;
    if (i >= mode.N_q) return `row ${i}   does not exist (N_q = ${mode.N_q}): computed with zeros, never stored`;
    if (step.k < 0)
        return step.l[r] > 0
            ? `row ${i}   LSE = m + ln l = ${show(b.m[r])} + ln ${show(b.l[r])} \u2248 ${show(b.m[r])} + ${show(missing(step.LSE[r], b.m[r]))}`
              + ` = ${show(step.LSE[r])}\n`
              + `   O = O / l = ${vector(b.O[r])} / ${show(b.l[r])} \u2248 ${vector(step.O[r])}, rounded to ${mode.dtype || "fp16"}`
            : `row ${i}   has seen no key: l = 0, m = \u2212\u221e\n   O = 0, LSE = \u2212\u221e`;
    const PV = step.O[r].map((o, x) => o - b.O[r][x] * step.alpha[r]);
    // Of the row as it is shown; where nothing is added to, l is the sum.
    const sum = step.alpha[r] * b.l[r] ? step.P[r].reduce((x, y) => x + rounded(y), 0) : step.l[r];
    const base = step.m[r] === -Infinity ? "0" : show(step.m[r]);
    return `row ${i}   m = max(${show(b.m[r])}, ${show(Math.max(...step.S[r]))}) = ${show(step.m[r])}`
        + `   alpha = exp(${show(b.m[r])} \u2212 ${base}) \u2248 ${show(step.alpha[r])}`
        + `   l = ${show(step.alpha[r])} \u00b7 ${show(b.l[r])} + \u03a3P \u2248 ${show(missing(step.l[r], sum))} + ${show(sum)} = ${show(step.l[r])}\n`
        + `   O = alpha O + P V \u2248 ${vector(missing(step.O[r], PV))} + ${vector(PV)} = ${vector(step.O[r])}`;
}

function forwardCaption(step) {
    const keys = `keys ${step.k * BLOCK} to ${Math.min((step.k + 1) * BLOCK, mode.N_k) - 1}`;
    const skipped = list(0, tiles(mode.N_k)).filter(k => !isVisited(mode, step.q, Number(k)));
    const never = skipped.length ? ` Never loaded: K/V${named("tile", skipped)}.` : "";
    if (step.k < 0) return `Q tile ${step.q} is done: O / l and LSE go to HBM. S and P never did.` + never;
    const grown = list(step.q * BLOCK, BLOCK).filter((_, r) => step.before.m[r] > -Infinity && step.m[r] > step.before.m[r]);
    const news = grown.length ? ` m grows in${named("row", grown)}.` : "";
    return `Q tile ${step.q} meets ${keys}${isMasked(mode, step.q, step.k) ? ", masked" : ""}.` + news + never;
}

function renderForward(step) {
    const isStore = step.k < 0;
    const queries = list(step.q * BLOCK, BLOCK);
    const last = isStore ? steps.slice(0, at).reverse().find(s => s.q === step.q && s.k >= 0) : step;
    const keys = last ? list(last.k * BLOCK, BLOCK) : list(0, BLOCK).map(() => "\u2013");
    const isNoQuery = r => step.q * BLOCK + r >= mode.N_q;
    const isNoKey = c => last && last.k * BLOCK + c >= mode.N_k;
    const isNoScore = (r, c) => isNoQuery(r) || last.k * BLOCK + c >= keysSeen(mode, step.q * BLOCK + r);
    const scores = steps.flatMap(s => s.k < 0 ? [] : s.S.flat()).filter(Number.isFinite);
    const low = Math.min(...scores), high = Math.max(...scores);
    const transposed = last && matrix(BLOCK, BLOCK, (x, j) => last.K[j][x]);

    drawForwardMap(step);
    fill("V", last && last.V, {rows: keys, isHidden: isNoKey, stale: isStore});
    fill("K", transposed, {columns: keys, isHidden: (_, c) => isNoKey(c), stale: isStore});
    fill("Q", step.Q, {rows: queries, isHidden: isNoQuery, chosen: row});
    fill("S", last && last.S, {isHidden: isNoScore, shade: isStore ? null : x => ((x - low) / (high - low)) ** 2, chosen: row, stale: isStore});
    fill("P", last && last.P, {isHidden: isNoScore, shade: isStore ? null : x => x, chosen: row, stale: isStore});
    fill("state", queries.map((_, r) => [step.before.m[r], step.m[r], isStore ? null : step.alpha[r], step.l[r],
                                         isStore ? step.LSE[r] : null]),
         {rows: queries, columns: ["m old", "m", "alpha", "l", "LSE"], isHidden: isNoQuery, chosen: row});
    fill("O", step.O, {rows: queries, isHidden: isNoQuery, chosen: row});
    element("O").caption.lastElementChild.textContent =
        isStore ? "= O / l, what is stored" : "= alpha O + P V, not divided by l yet";
    element("note").textContent = mode.note;
    element("traffic").textContent = `Read so far of Q, K, V: ${step.read} bytes. Written: ${step.written}.`;
}

// What a step moves between HBM and the block.
function moveForward(step, before) {
    const edge = (name, tile) => inMap("map", `${name} ${tile}`), queries = countOf(step.q, mode.N_q);
    if (!before || before.q !== step.q) fly(edge("Q", step.q), element("Q"), `Q ${step.q}`, queries * BLOCK * 2);
    if (step.k >= 0)
        for (const name of ["K", "V"])
            fly(edge(name, step.k), element(name), `${name} ${step.k}`, countOf(step.k, mode.N_k) * BLOCK * 2);
    else {
        fly(element("O"), edge("O", step.q), `O ${step.q}`, queries * BLOCK * 2);
        fly(element("state"), edge("LSE", step.q), `LSE ${step.q}`, queries * 4);
    }
}

const FORWARD = {modes: FORWARD_MODES, sweep, render: renderForward, caption: forwardCaption, worked: forwardWorked, move: moveForward};
