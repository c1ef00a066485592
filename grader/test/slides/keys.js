// keys.js: what slides.sh lets Chromium run at the end of a deck as it is shown. Keys are pressed;
// the page becomes a text: the number of slides, then the slide shown at first and after each key,
// and what `n` does to its notes.
"use strict";
const all = [...document.querySelectorAll("section")];
const shown = () => all.flatMap((slide, n) => (getComputedStyle(slide).display === "none" ? [] : [n + 1])).join("+");
const press = (key, shiftKey = false) => {
    dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey}));
    return shown();
};
const seen = [shown(), press("ArrowRight"), press(" "), press(" ", true), press("End"), press("ArrowRight"),
    press("Home"), press("ArrowLeft"), press("PageDown")];
const notes = () => getComputedStyle(document.querySelector(".shown .notes")).display;
const before = notes();
press("n");
const told = `${all.length} slides: ${seen.join(" ")} at ${location.hash}, notes ${before} ${notes()}`;
document.documentElement.innerHTML = "<body></body>";
document.body.append(document.createElement("pre"));
document.querySelector("pre").textContent = told;
