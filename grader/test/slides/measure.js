// measure.js: what slides.sh lets Chromium run at the end of a deck opened with ?all, where every
// slide has its own size. The page becomes a text: "slides N", and a line for each fault.
"use strict";
const faults = [];
const slides = [...document.querySelectorAll("section")];
const smallest = 18; // pixels of a letter, on a slide of 1280

slides.forEach((slide, n) => {
    const fault = (what) => faults.push(`slide ${n + 1}: ${what}`);
    const quote = (e) => `"${e.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}"`;
    const style = getComputedStyle(slide);
    const frame = slide.getBoundingClientRect();
    // The margin belongs to nobody but the number and the deck's name.
    const inner = {
        left: frame.left + parseFloat(style.paddingLeft),
        right: frame.right - parseFloat(style.paddingRight),
        top: frame.top + parseFloat(style.paddingTop),
        bottom: frame.bottom - parseFloat(style.paddingBottom),
    };
    const outside = (box, of, slack) =>
        box.left < of.left - slack || box.right > of.right + slack ||
        box.top < of.top - slack || box.bottom > of.bottom + slack;
    const spoken = slide.querySelector(".notes");
    let low = frame.top; // where its ink ends

    if (frame.width !== 1280 || frame.height !== 720) fault(`is ${frame.width} x ${frame.height}, not 1280 x 720`);
    if (!slide.querySelector("h2")) fault("has no title (## ...)");
    if (!spoken || !spoken.textContent.trim()) fault("has no notes (::: notes)");

    // Paragraphs with words, formulas and points; beside them listings, tables and pictures. What comes with a step is
    // another matter.
    const at_once = (e) => !e.closest(".notes, .source, .ask, .step");
    const thoughts = [...slide.querySelectorAll("p")].filter((e) => at_once(e) && !e.closest("li, table") && e.textContent.trim() &&
        !e.querySelector("svg, img"));
    const shown = [...slide.querySelectorAll("pre, table, svg, img")].filter(at_once);
    const points = slide.querySelectorAll("ul > li, ol > li").length;
    if (!slide.matches(".whole, .title")) {
        const opening = slide.querySelector("h2 + ul, h2 + ol") ? 1 : 0; // its first point is there from the beginning
        const steps = points - opening + slide.querySelectorAll(".step, .ask").length;
        if (steps === 0 && (thoughts.length + points > 1 || shown.length > 1))
            fault("has several thoughts and no step (::: step, or ## Title {.whole})");
        else if (thoughts.length > 3) fault(`has ${thoughts.length} thoughts at once (::: step, or ## Title {.whole})`);
        // What stands below a step comes no sooner.
        const first = [...slide.querySelectorAll(".step, .ask, ul > li, ol > li")].filter((e) => !e.closest(".notes"))[opening];
        for (const e of first ? [...thoughts, ...shown] : [])
            if (!e.closest("li") && !first.contains(e) && first.compareDocumentPosition(e) & 4 && !e.querySelector(".step"))
                fault(`is there before the steps above it: ${quote(e)}`);
    }

    for (const e of slide.querySelectorAll("*")) {
        // Of a formula and of a box in a box, the outermost one tells.
        if (e.closest(".notes, defs") || e.parentNode.closest("math")) continue;
        const box = e.getBoundingClientRect();
        const size = parseFloat(getComputedStyle(e).fontSize);
        const words = [...e.childNodes].map((c) => (c.nodeType === 3 ? c.data : "")).join("").trim();
        const has_words = words !== "";

        if (box.width && (has_words || e.matches("pre, img, math, td, .ask, rect, path"))) low = Math.max(low, box.bottom);
        const parent = e.parentNode === slide ? inner : e.parentNode.getBoundingClientRect();
        if (box.width && outside(box, inner, 1) && !outside(parent, inner, 1))
            fault(`<${e.localName}> leaves the slide: ${quote(e)}`);
        // The box of a formula says nothing about its parts; and it may be higher than its line.
        const parts = e.localName === "math" ? [...e.querySelectorAll("mi, mn, mo, mtext")] : [];
        if (parts.some((part) => outside(part.getBoundingClientRect(), inner, 1)))
            fault(`a formula leaves the slide: ${quote(e.querySelector("semantics > *"))}`);
        const high = e.scrollHeight > e.clientHeight + 1 && !e.querySelector("math");
        if (e instanceof HTMLElement && e.clientWidth && (e.scrollWidth > e.clientWidth + 1 || high))
            fault(`<${e.localName}> is smaller than what is in it: ${quote(e)}`);
        if (e instanceof HTMLElement && has_words && size < smallest && e.localName !== "math")
            if (e.localName !== "code" || !e.closest("p, li, td, th")) fault(`letters of ${size} pixels: ${quote(e)}`);
        if (e.localName === "img" && !e.naturalWidth) fault(`a picture is missing: ${e.alt}`);
        // The letters of a plot (plots/style.gp) are 16 units high.
        if (e.localName === "img" && e.clientWidth / e.naturalWidth * 16 < smallest - 0.1)
            fault(`a plot's letters are too small (## Title {.plot}): ${e.alt}`);
        // What can grow has grown (slides/grow.js): a drawing is as wide as the slide, or it is large, or the slide is full.
        if (e.localName === "svg" && box.width < 0.9 * (inner.right - inner.left) && !e.closest(".columns")) {
            const low = Math.max(...[...slide.children].filter((c) => !c.matches(".notes")).map((c) => c.getBoundingClientRect().bottom));
            if (box.width < 1.55 * e.viewBox.baseVal.width && inner.bottom - low > 60) fault("a drawing leaves room");
        }
        const paper = e.ownerSVGElement && e.ownerSVGElement.getBoundingClientRect();
        if (e.localName === "rect" && outside(box, paper, 1))
            fault(`a box leaves its drawing, at ${e.getAttribute("x")}, ${e.getAttribute("y")}`);
        if (e.localName === "text") {
            if (outside(box, paper, 2)) fault(`words leave their drawing: ${quote(e)}`);
            const to_screen = e.getScreenCTM();
            const scaled = size * Math.hypot(to_screen.a, to_screen.b);
            if (scaled < smallest - 0.1) fault(`letters of ${scaled} pixels in a drawing: ${quote(e)}`);
            // draw.lua puts the words of a box into a group behind it.
            const rect = e.parentNode.hasAttribute("paint-order") && e.parentNode.previousElementSibling;
            const around = rect && rect.getBoundingClientRect();
            if (rect && (box.left < around.left - 2 || box.right > around.right + 2))
                fault(`words are wider than their box: ${quote(e)}`);
        }
        if (e.matches("span.math") && !e.querySelector("math")) fault(`a formula was not set: ${quote(e)}`);
        if (has_words && e.closest("p code") && /\binclude="/.test(words)) fault(`a listing was not understood: ${quote(e)}`);
        if (has_words && !e.closest("code") && /\$|\\[a-z]+\{/.test(words)) fault(`raw mathematics: ${quote(e)}`);
    }
    const free = Math.round(100 - 100 * (low - frame.top) / frame.height);
    if (free > 20 && !slide.matches(".title, .room")) fault(`has nothing in its last ${free} % (write more, or ## Title {.room})`);
});
const text = [`slides ${slides.length}`, ...faults].join("\n");
document.documentElement.innerHTML = "<body></body>";
document.body.append(document.createElement("pre"));
document.querySelector("pre").textContent = text;
