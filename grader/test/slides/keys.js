// keys.js: what slides.sh lets Chromium run at the end of a deck as it is shown. Keys are pressed;
// the page becomes a text: the number of slides, and what went wrong, or "all as it should be".
"use strict";
const all = [...document.querySelectorAll("section")];
const wrong = [];
const shown = () => all.flatMap((slide, n) => (getComputedStyle(slide).display === "none" ? [] : [n + 1])).join("+");
const later = () => document.querySelectorAll(".shown .later").length;
const press = (key, shiftKey = false, where = window) => {
    where.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey}));
    return shown();
};
const expect = (what, is, wanted) => {
    if (String(is) !== String(wanted)) wrong.push(`${what}: ${is}, not ${wanted}`);
};

// Forward, a step at a time: each shows one thing more, or the next slide. And the same way back.
expect("at first", shown(), 1);
const way = [];
let steps = 0;
for (let n = 1; n <= all.length;) {
    way.push(`${n} ${later()} ${location.hash}`);
    const before = later(), now = press("ArrowRight");
    if (Number(now) === n && later() === before - 1) steps++;
    else if (before === 0 && Number(now) === n + 1) n++;
    else if (before === 0 && n === all.length && Number(now) === n) break;
    else {
        wrong.push(`right from slide ${n}, ${before} to come: slide ${now}, ${later()} to come`);
        break;
    }
}
for (let n = way.length - 1; n >= 0; n--) {
    expect("back", `${shown()} ${later()} ${location.hash}`, way[n]);
    press("ArrowLeft");
}
if (steps < all.length / 2) wrong.push(`only ${steps} steps on ${all.length} slides`);
for (const [key, shift, wanted] of [["ArrowDown", false, 2], ["ArrowDown", false, 3], ["ArrowUp", false, 2], ["End", false, all.length],
    [" ", false, all.length], ["Home", false, 1], ["PageDown", false, 2], ["PageUp", false, 1], [" ", false, 2], [" ", true, 1]])
    expect(`${key} ${shift ? "with shift" : ""}`, press(key, shift), wanted);

// The presenter's window is a frame here. It has the notes; no key brings them onto a slide.
let frame = null;
window.open = () => {
    frame = document.body.appendChild(document.createElement("iframe"));
    return frame.contentWindow;
};
press("ArrowDown");
press("p");
const notes = (root) => [...root.querySelectorAll(".notes")].filter((e) => e.getClientRects().length).map((e) => e.textContent.trim());
const told = () => notes(frame.contentDocument).join();
const written = (n) => [...all[n].querySelectorAll(".notes")].map((e) => e.textContent.trim()).join();
expect("notes of slide 2", told(), written(1));
press("ArrowDown", false, frame.contentWindow);
expect("a key in the presenter's window", shown(), 3);
expect("notes of slide 3", told(), written(2));
const clock = frame.contentDocument.querySelector("#clock").textContent;
if (!/^0:0\d {3}\d\d:\d\d {3}slide 3 of \d+/.test(clock)) wrong.push(`clock: ${clock}`);
for (const key of "abcdefghijklmnoqrstuvwxyz") press(key);
expect("notes on a slide", notes(document).length, 0);

const text = `${all.length} slides: ${wrong.join("; ") || "all as it should be"}`;
document.documentElement.innerHTML = "<body></body>";
document.body.append(document.createElement("pre"));
document.querySelector("pre").textContent = text;
