// page.js: the controls, and what is on its way. Either pass is an object: its modes, the steps of one (sweep), and what
// a step shows (render, caption, worked, move).
"use strict";
const PASSES = {forward: FORWARD, backward: BACKWARD};
const PLAY_MS = 1300;  // a step, at speed 1
let pass = FORWARD, mode = null, steps = [], at = 0, row = 0, timer = 0, speed = 1;

const passName = () => Object.keys(PASSES).find(id => PASSES[id] === pass);
const modeAddress = (of, m) => (of === BACKWARD ? "backward-" : "") + m.name.replace(/ /g, "-");

function render() {
    const step = steps[at];
    pass.render(step);
    element("caption").textContent = pass.caption(step);
    element("worked").textContent = pass.worked(step);
    element("where").textContent = `step ${at + 1} of ${steps.length}`;
    element("slider").max = steps.length - 1;
    element("slider").value = at;
    element("slider").setAttribute("aria-valuetext", pass.caption(step));
    element("play").textContent = timer ? "Pause" : "Play";
    element("play").setAttribute("aria-pressed", Boolean(timer));
    element("modes").querySelectorAll("button").forEach((b, n) => b.setAttribute("aria-pressed", pass.modes[n] === mode));
    element("passes").querySelectorAll("button").forEach(b => b.setAttribute("aria-pressed", PASSES[b.id] === pass));
    document.body.dataset.pass = passName();
    document.body.dataset.mode = mode.name;
    document.body.dataset.q = step.q;
    document.body.dataset.k = step.k;
    history.replaceState(null, "", `#${modeAddress(pass, mode)}/${at + 1}`);
}

// What is moved flies from the one table to the other.
function fly(from, to, what, bytes) {
    const a = from.getBoundingClientRect(), b = to.getBoundingClientRect(), box = make(document.body, "div", "flying");
    box.dataset.what = what;
    box.dataset.bytes = bytes;
    const place = r => ({left: `${r.left}px`, top: `${r.top}px`, width: `${r.width}px`, height: `${r.height}px`});
    box.animate([place(a), place(b)], {duration: PLAY_MS * 0.6 / speed, easing: "ease-in-out", fill: "forwards"}).onfinish = () => box.remove();
}
function move(step, before) {
    document.querySelectorAll(".flying").forEach(box => box.remove());
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) pass.move(step, before);
}

function go(to) {
    const from = at;
    at = Math.min(Math.max(to, 0), steps.length - 1);
    render();
    if (at === from + 1) move(steps[at], steps[from]);
}
function pause() {
    clearInterval(timer);
    timer = 0;
}
function goByHand(to) {
    pause();
    go(to);
}
function start() {
    timer = setInterval(() => {
        if (at + 1 >= steps.length - 1) pause();
        go(at + 1);
    }, PLAY_MS / speed);
}
function play() {
    if (timer) return goByHand(at);
    if (at === steps.length - 1) at = 0;
    start();
    render();
}
function change(factor) {  // of speed: from a quarter to four times
    speed = Math.min(Math.max(speed * factor, 0.25), 4);
    element("speed").textContent = `${speed}\u00d7`;
    if (!timer) return;
    clearInterval(timer);
    start();
}
function choose(n) {
    mode = pass.modes[n];
    steps = pass.sweep(mode);
    goByHand(0);
}
function choosePass(to) {
    pass = to;
    element("modes").textContent = "";
    pass.modes.forEach((m, n) => {
        const button = make(element("modes"), "button", "", `${n + 1} ${m.name}`);
        button.onclick = () => choose(n);
        make(element("modes"), "span", "", " ");
    });
    choose(0);
}
function chooseRow(to) {
    row = (to + BLOCK) % BLOCK;
    render();
}

const KEYS = {
    ArrowRight: () => goByHand(at + 1), ArrowLeft: () => goByHand(at - 1),
    ArrowDown: () => chooseRow(row + 1), ArrowUp: () => chooseRow(row - 1),
    Home: () => goByHand(0), End: () => goByHand(steps.length - 1), " ": play,
    "+": () => change(2), "-": () => change(0.5),
};
for (const n of list(1, 9)) KEYS[n] = () => { if (n <= pass.modes.length) choose(n - 1); };
for (const id in PASSES) {
    element(id).onclick = () => choosePass(PASSES[id]);
    KEYS[id[0]] = element(id).onclick;
}
document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
    // A button that the Tab key has reached takes the space for itself, as everywhere.
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    event.preventDefault();
    KEYS[event.key]();
});
// A button that was clicked with the mouse does not keep the space key.
document.addEventListener("click", event => {
    if (event.detail > 0 && event.target.tagName === "BUTTON") event.target.blur();
});
element("first").onclick = KEYS.Home;
element("back").onclick = KEYS.ArrowLeft;
element("play").onclick = play;
element("next").onclick = KEYS.ArrowRight;
element("last").onclick = KEYS.End;
element("slower").onclick = KEYS["-"];
element("faster").onclick = KEYS["+"];
change(1);
element("slider").oninput = event => goByHand(Number(event.target.value));
dark.addEventListener("change", render);

// index.html#causal/5 opens step 5 of that mode, index.html#backward-causal/5 that of the other pass.
const [name, number] = decodeURIComponent(location.hash.slice(1)).split("/");
choosePass(FORWARD);
for (const to of Object.values(PASSES)) {
    const wanted = to.modes.findIndex(m => modeAddress(to, m) === name);
    if (wanted < 0) continue;
    choosePass(to);
    choose(wanted);
}
go(Number(number) > 0 ? Number(number) - 1 : 0);
