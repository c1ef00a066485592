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

// The presenter's window is a second page, opened from a file as a presenter does. It has the notes; no key brings
// them onto a slide. slides.sh lets Chromium open windows without a click.
const open = window.open.bind(window);
let other = null, opened = 0;
window.open = (...of) => {
    opened++;
    return (other = open(...of));
};
press("ArrowDown");
press("p");
if (!other || other === window || other.opener !== window || other.frameElement) wrong.push("no window of its own");
const notes = (root) => [...root.querySelectorAll(".notes")].filter((e) => e.getClientRects().length).map((e) => e.textContent.trim());
const told = () => notes(other.document).join();
const written = (n) => [...all[n].querySelectorAll(".notes")].map((e) => e.textContent.trim()).join();
expect("notes of slide 2", told(), written(1));
const now = () => other.document.querySelector("#now h2").textContent;
const title = (n) => all[n].querySelector("h2").textContent;
expect("slide 2 in the presenter's window", now(), title(1));
press("ArrowDown", false, other);
expect("a key in the presenter's window", shown(), 3);
expect("notes of slide 3", told(), written(2));
expect("slide 3 in the presenter's window", now(), title(2));
// A step on either side is a step on both; what comes next is shown beside it.
const coming = () => [now(), other.document.querySelectorAll("#now .later").length, other.document.querySelector("#next h2").textContent];
for (const where of [window, other, window]) {
    press("ArrowRight", false, where);
    const n = Number(shown()), left = later();
    expect("in step", coming(), [title(n - 1), left, left > 0 ? title(n - 1) : title(n)]);
    expect("notes in step", told(), written(n - 1));
}
press("Home");
press("ArrowDown");
press("ArrowDown");
press("p");
expect("p again: the same window, on the slide that is shown", [opened, now()], [2, title(2)]);
const clock = other.document.querySelector("#clock").textContent;
if (!/^0:0\d {3}\d\d:\d\d {3}slide 3 of \d+/.test(clock)) wrong.push(`clock: ${clock}`);
for (const key of "abcdefghijklmnoqrstuvwxyz") press(key);
expect("notes on a slide", notes(document).length, 0);

const text = `${all.length} slides: ${wrong.join("; ") || "all as it should be"}`;
document.documentElement.innerHTML = "<body></body>";
document.body.append(document.createElement("pre"));
document.querySelector("pre").textContent = text;
