// backward.js: a K/V tile's walk over the tiles of queries. Every number is computed here, in fp32 and in the order of
// lesson 15's kernels; grader/test/sweep.sh compares each with what `make trace LESSON=15` says of them.
"use strict";

// ---- the modes: the cases of grader/15_flash_backward/trace.c ----

const BACKWARD_MODES = [
    {name: "full", N_q: 16, N_k: 16,
     note: "Lesson 15. A block owns a K/V tile and its dK and dV. The tiles of Q and dO pass, from the last to the first; "
           + "each block adds its share to their dQ."},
    {name: "causal", N_q: 12, N_k: 16, causal: true,
     note: "Lesson 15. Later keys are seen by fewer queries: the walk of their block ends sooner, and fewer blocks add to "
           + "the first queries\u2019 dQ."},
    {name: "causal and ragged", N_q: 15, N_k: 13, causal: true,
     note: "Lesson 15. Two more queries than keys: the first two see nothing, and their dQ is 0. Rows beyond the ends are "
           + "zeros, and add nothing."},
];

// The first query that sees key j (lesson 15, equation 2).
function seenFrom(mode, j) {
    if (j >= mode.N_k) return mode.N_q;
    return mode.causal ? Math.max(j - mode.N_k + mode.N_q, 0) : 0;
}
const isPassed = (mode, q, k) => (q + 1) * BLOCK > seenFrom(mode, k * BLOCK);
const isSeen = (mode, i, j) => i >= seenFrom(mode, j) && i < mode.N_q;
// How many blocks add to the dQ of a tile of queries.
const sharesOf = (mode, q) => list(0, tiles(mode.N_k)).filter(k => isPassed(mode, q, Number(k))).length;

// ---- the kernels ----

// The nearest fp16, ties to even.
function f16(x) {
    if (x === 0) return x;
    const ulp = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -14) - 10), n = Math.round(x / ulp);
    return (Math.abs(x / ulp % 1) === 0.5 && n % 2 ? n - 1 : n) * ulp;
}
const dot = (a, b) => a.reduce((sum, x, n) => f32(sum + f32(x * b[n])), 0);

// What the forward pass has left: O in 16 bits, LSE.
function forwardOf(mode) {
    const done = sweep(mode).filter(step => step.k < 0);
    return {O: done.flatMap(step => step.O.map(row => row.map(f16))), LSE: done.flatMap(step => step.LSE)};
}

// A tile of queries passes a block: what the block adds to dK, dV and dQ, in the order in which its threads add.
function passStep(mode, q, k, left, delta, before) {
    const Qt = rowsOf(Q, q, mode.N_q), dOt = rowsOf(dO, q, mode.N_q), Kt = rowsOf(K, k, mode.N_k), Vt = rowsOf(V, k, mode.N_k);
    const S = matrix(BLOCK, BLOCK, (i, j) => f32(SCALE * dot(Qt[i], Kt[j])));
    const dP = matrix(BLOCK, BLOCK, (i, j) => dot(dOt[i], Vt[j]));
    const P = matrix(BLOCK, BLOCK, (i, j) => isSeen(mode, q * BLOCK + i, k * BLOCK + j)
        ? f32(Math.exp(f32(S[i][j] - left.LSE[q * BLOCK + i]))) : 0);
    const dS = matrix(BLOCK, BLOCK, (i, j) => f32(P[i][j] * f32(dP[i][j] - (delta[q * BLOCK + i] || 0))));
    const grown = (sum, weights, rows) => matrix(BLOCK, BLOCK, (j, x) => {
        let to = sum[j][x];
        for (let i = 0; i < BLOCK; i++) to = f32(to + f32(weights[i][j] * rows[i][x]));
        return to;
    });
    const share = matrix(BLOCK, BLOCK, (i, x) => dot(dS[i], Kt.map(key => key[x])));
    return {K: Kt, V: Vt, Q: Qt, dO: dOt, S, dP, P, dS, share,
            dV: grown(before.dV, P, dOt), dK: grown(before.dK, dS, Qt)};
}

// All steps of a mode: delta_kernel, then the blocks of dk_dv_kernel one after the other, then dq_kernel. (On a GPU the
// blocks of a kernel run at once, and add to dQ in any order.)
function walk(mode) {
    const left = forwardOf(mode), steps = [], T_q = tiles(mode.N_q), T_k = tiles(mode.N_k);
    const delta = Array(MAX_N).fill(null), sums = matrix(MAX_N, BLOCK, () => null), shares = Array(BLOCK).fill(0);
    const bytes = {read: 0, written: 0, added: 0};
    const keep = step => steps.push({K: null, V: null, Q: null, dO: null, S: null, P: null, dS: null, dK: null, dV: null, ...step,
                                     delta: [...delta], dQ: sums.map(row => [...row]), shares: [...shares],
                                     LSE: left.LSE, O: left.O, ...bytes});
    for (let q = 0; q < T_q; q++) {
        const rows = countOf(q, mode.N_q);
        for (let i = q * BLOCK; i < q * BLOCK + rows; i++) {
            const [a, b, c, d] = dO[i].map((x, n) => f32(x * left.O[i][n]));
            delta[i] = f32(f32(a + c) + f32(b + d));  // as lanes exchange them
            sums[i].fill(0);
        }
        bytes.read += 2 * rows * BLOCK * 2;
        bytes.written += rows * (4 + BLOCK * 4);
        keep({kind: "delta", q, k: -1, dO: rowsOf(dO, q, mode.N_q)});
    }
    for (let k = 0; k < T_k; k++) {
        let last = {dK: matrix(BLOCK, BLOCK, () => 0), dV: matrix(BLOCK, BLOCK, () => 0)};
        bytes.read += 2 * countOf(k, mode.N_k) * BLOCK * 2;
        for (let q = T_q - 1; q >= 0; q--) {
            if (!isPassed(mode, q, k)) continue;
            const rows = countOf(q, mode.N_q), before = {...last, dQ: sums.map(row => [...row])};
            last = passStep(mode, q, k, left, delta, before);
            for (let i = 0; i < rows; i++)
                sums[q * BLOCK + i] = sums[q * BLOCK + i].map((sum, x) => f32(sum + last.share[i][x]));
            shares[q]++;
            bytes.read += rows * (2 * BLOCK * 2 + 4 + 4);
            bytes.added += rows * BLOCK * 4;
            keep({kind: "tile", q, k, ...last, before});
        }
        bytes.written += 2 * countOf(k, mode.N_k) * BLOCK * 2;
        keep({kind: "store", q: -1, k, K: last.K, V: last.V, dV: last.dV, before: last,
              dK: last.dK.map(row => row.map(x => f32(SCALE * x)))});
    }
    for (let q = 0; q < T_q; q++) {
        const rows = countOf(q, mode.N_q), before = {dQ: sums.map(row => [...row])};
        for (let i = q * BLOCK; i < q * BLOCK + rows; i++) sums[i] = sums[i].map(x => f32(SCALE * x));
        bytes.read += rows * BLOCK * 4;
        bytes.written += rows * BLOCK * 2;
        keep({kind: "round", q, k: -1, before});
    }
    return steps;
}

// ---- what is shown ----

function drawBackwardMap(step) {
    const map = element("columns"), T_q = tiles(mode.N_q), T_k = tiles(mode.N_k);
    map.textContent = "";
    const edge = (text, className, of = text) => { make(map, "div", className, text).dataset.of = of; };
    const isDone = k => step.kind === "round" || k < step.k || (k === step.k && step.kind === "store");
    const line = (name, state, text) => {
        edge("", "");
        edge("", "");
        for (let k = 0; k < BLOCK; k++)
            if (k < T_k) edge(text(k), `edge ${state(k)}`, `${name} ${k}`); else edge("", "");
        edge("", "");
    };
    for (const name of ["K", "V"]) line(name, k => k === step.k ? "now" : "", k => `${name} ${k}`);
    for (let q = 0; q < T_q; q++) {
        const passes = q === step.q && step.kind !== "round" ? "edge tall now" : "edge tall";
        edge(`Q ${q}`, step.kind === "delta" ? "edge tall" : passes);
        edge(`dO ${q}`, passes);
        for (let k = 0; k < BLOCK; k++) {
            const isNow = q === step.q && k === step.k;
            const state = !isPassed(mode, q, k) ? "skip" : isNow ? "now"
                        : isDone(k) || (k === step.k && q > step.q) ? "done" : "";
            const tile = make(map, "div", k < T_k ? `tile ${state}` : "");
            if (k >= T_k) continue;
            for (let e = 0; state !== "skip" && e < BLOCK * BLOCK; e++)
                make(tile, "i", isSeen(mode, q * BLOCK + Math.floor(e / BLOCK), k * BLOCK + e % BLOCK) ? "" : "masked");
            make(make(tile, "b"), "span", "", state);
        }
        const isRounded = step.kind === "round" && q <= step.q, isCleared = step.delta[q * BLOCK] !== null;
        const state = q === step.q && step.kind !== "store" ? "now" : isRounded ? "stored" : "";
        edge(isRounded ? `dQ ${q}` : isCleared ? `${step.shares[q]} of ${sharesOf(mode, q)}` : "\u2013", `edge tall ${state}`, `dQ ${q}`);
    }
    for (const name of ["dK", "dV"])
        line(name, k => k === step.k && step.kind === "store" ? "now" : isDone(k) ? "stored" : "", k => isDone(k) ? `${name} ${k}` : "\u2013");
}

function renderBackward(step) {
    const isTile = step.kind === "tile", isStore = step.kind === "store";
    const q = isStore ? steps.slice(0, at).reverse().find(s => s.q >= 0).q : step.q;
    const queries = list(q * BLOCK, BLOCK), keys = step.k < 0 ? queries.map(() => "\u2013") : list(step.k * BLOCK, BLOCK);
    const isNoQuery = r => q * BLOCK + r >= mode.N_q;
    const isNoKey = r => step.k * BLOCK + r >= mode.N_k;
    const isHidden = (r, c) => c > 0 && !isSeen(mode, q * BLOCK + r, step.k * BLOCK + c - 1) || isNoQuery(r);
    const of = (all, r) => isNoQuery(r) ? 0 : all[q * BLOCK + r];
    const dS = step.dS && step.dS.map((row, r) => [of(step.delta, r), ...row]);

    drawBackwardMap(step);
    fill("bK", step.K, {rows: keys, isHidden: isNoKey, stale: !isTile, chosen: row});
    fill("bV", step.V, {rows: keys, isHidden: isNoKey, stale: !isTile, chosen: row});
    fill("bQ", step.Q, {rows: queries, isHidden: isNoQuery, chosen: row});
    fill("bdO", step.dO, {rows: queries, isHidden: isNoQuery, chosen: row});
    fill("bP", step.P && step.P.map((p, r) => [of(step.LSE, r), ...p]),
         {rows: queries, columns: ["LSE", "", "", "", ""], isHidden, shade: (x, c) => c > 0 ? x : null, chosen: row});
    fill("bdS", dS || (step.kind === "delta" && queries.map((_, r) => [of(step.delta, r), null, null, null, null])) || null,
         {columns: ["delta", "", "", "", ""], isHidden, chosen: row});
    fill("bdV", step.dV, {rows: keys, isHidden: isNoKey, chosen: row});
    fill("bdK", step.dK, {rows: keys, isHidden: isNoKey, chosen: row});
    fill("bdQ", queries.map((_, r) => isNoQuery(r) ? [0, 0, 0, 0] : step.dQ[q * BLOCK + r]),
         {rows: queries, isHidden: isNoQuery, chosen: row, stale: isStore});
    element("bdK").caption.lastElementChild.innerHTML = isStore ? "= scale dK, stored" : "+= dS<sup>T</sup> Q, keys \u2193";
    element("bdQ").caption.textContent = step.kind === "round" ? "dQ" : "dQ_sum";
    make(element("bdQ").caption, "span", "", step.kind === "round" ? " = scale dQ_sum" : " += dS K, of all blocks");
    element("bnote").textContent = mode.note;
    element("btraffic").textContent = `Read so far: ${step.read} bytes. Written: ${step.written}. Added to dQ_sum: ${step.added}.`;
}

const NOTHING = "does not exist: computed with zeros, adds nothing";
function backwardWorked(step) {
    const r = row, i = step.q * BLOCK + r, j = step.k * BLOCK + r, b = step.before;
    const sum = (from, to) => `${vector(from)} + ${vector(missing(to, from))} = ${vector(to)}`;
    if (step.kind === "store")
        return j < mode.N_k ? `key ${j}   dK = scale dK = ${SCALE} \u00b7 ${vector(b.dK[r])} \u2248 ${vector(step.dK[r])}, rounded to fp16\n`
                              + `   dV = ${vector(step.dV[r])}, rounded to fp16` : `key ${j}   does not exist: never stored`;
    if (i >= mode.N_q && step.kind !== "tile") return `query ${i}   does not exist (N_q = ${mode.N_q})`;
    if (step.kind === "delta")
        return `query ${i}   delta = \u03a3 dO O \u2248 ${vector(step.dO[r])} \u00b7 ${vector(step.O[i])} \u2248 ${show(step.delta[i])}`;
    if (step.kind === "round")
        return `query ${i}   dQ = scale dQ_sum = ${SCALE} \u00b7 ${vector(b.dQ[i])} \u2248 ${vector(step.dQ[i])}, rounded to fp16`;
    const query = i < mode.N_q
        ? `query ${i}   dS = ${vector(step.P[r])} \u00b7 (${vector(step.dP[r])} \u2212 ${show(step.delta[i])})`
          + ` \u2248 ${vector(step.dS[r])}\n   dQ_sum = ${sum(b.dQ[i], step.dQ[i])}\n`
        : `query ${i}   ${NOTHING}\n\n`;
    return query + (j < mode.N_k ? `key ${j}   dV = ${sum(b.dV[r], step.dV[r])}\n   dK = ${sum(b.dK[r], step.dK[r])}`
                                 : `key ${j}   ${NOTHING}`);
}

function backwardCaption(step) {
    const queries = `queries ${step.q * BLOCK} to ${Math.min((step.q + 1) * BLOCK, mode.N_q) - 1}`;
    if (step.kind === "delta") return `delta_kernel: delta = \u03a3 dO O of ${queries}. Their dQ_sum is cleared.`;
    if (step.kind === "round") return `dq_kernel: the sums of ${queries} are complete; dQ = scale dQ_sum goes to HBM.`;
    if (step.kind === "store") return `Block ${step.k} is done: dK and dV of its keys go to HBM. P and dS never did.`;
    const of = sharesOf(mode, step.q);
    return `Block ${step.k} keeps K/V tile ${step.k}; ${queries} pass. Share ${step.shares[step.q]} of ${of} of their dQ.`;
}

// What a step moves between HBM and the block.
function moveBackward(step, before) {
    const edge = (name, tile) => inMap("columns", `${name} ${tile}`);
    const queries = countOf(step.q, mode.N_q), keys = countOf(step.k, mode.N_k);
    if (step.kind === "delta") {
        fly(edge("dO", step.q), element("bdO"), `dO ${step.q}, O ${step.q}`, 2 * queries * BLOCK * 2);
        fly(element("bdO"), edge("dQ", step.q), `delta ${step.q}, dQ_sum = 0`, queries * (4 + BLOCK * 4));
    } else if (step.kind === "round") {
        fly(element("bdQ"), edge("dQ", step.q), `dQ ${step.q}, by way of a register`, queries * BLOCK * (4 + 2));
    } else if (step.kind === "store") {
        for (const name of ["dK", "dV"]) fly(element(`b${name}`), edge(name, step.k), `${name} ${step.k}`, keys * BLOCK * 2);
    } else {
        if (before.k !== step.k)
            for (const name of ["K", "V"]) fly(edge(name, step.k), element(`b${name}`), `${name} ${step.k}`, keys * BLOCK * 2);
        fly(edge("Q", step.q), element("bQ"), `Q ${step.q}, LSE`, queries * (BLOCK * 2 + 4));
        fly(edge("dO", step.q), element("bdO"), `dO ${step.q}, delta`, queries * (BLOCK * 2 + 4));
        fly(element("bdS"), element("bdQ"), `+ dQ ${step.q}`, queries * BLOCK * 4);
    }
}

const BACKWARD = {modes: BACKWARD_MODES, sweep: walk, render: renderBackward, caption: backwardCaption, worked: backwardWorked,
                  move: moveBackward};
