// Before deck.js: what is on a slide grows until the slide is full: first figures, listings, tables and
// text together, none wider than it may be, then the letters of a figure, none onto a line or another's.
"use strict";
(() => {
    const bottom_of = (slide) => 720 - parseFloat(getComputedStyle(slide).paddingBottom);
    const parts = {
        svg: ["svg", 1.6], pre: ["pre", 1.5], table: ["table", 1.35], math: ["math[display=block]", 1.1], text: ["p, ul, ol", 1.2],
    };

    // What may grow on a slide, each with the most that its width allows.
    function growing(slide) {
        const items = [];
        for (const [kind, [select, largest]] of Object.entries(parts))
            for (const e of slide.querySelectorAll(select)) {
                if (e.closest(".notes") || kind === "text" && e.parentElement.closest("li, p, table")) continue;
                const box = e.getBoundingClientRect(), room = e.parentElement.getBoundingClientRect().width;
                let width = 0;
                if (kind === "svg" || kind === "table") width = box.width;
                // The frame of a listing is as wide as the slide; its lines are not.
                if (kind === "pre") width = (e.firstElementChild || e).getBoundingClientRect().width + 40;
                const most = width ? Math.max(1, Math.min(largest, room / width - (kind === "svg" ? 0 : 0.01))) : largest;
                items.push({e, kind, most, width});
            }
        return items;
    }

    // Sets the size of all to `by`, or less where it is at its most. Does the slide hold them?
    function grow(slide, items, by) {
        for (const {e, kind, most, width} of items)
            // In twelfths, so that a pattern of draw.lua has whole pixels: a PDF then keeps it as lines.
            if (kind === "svg") e.style.width = `${width * Math.floor(12 * Math.min(by, most)) / 12}px`;
            else e.style.setProperty("--grow", Math.min(by, most).toFixed(3));
        const low = slide.getBoundingClientRect().top + bottom_of(slide);
        return [...slide.querySelectorAll("*")].every((e) => {
            if (e.closest(".notes, defs, svg *, math *")) return true;
            return e.getBoundingClientRect().bottom <= low && (!e.clientWidth || e.scrollWidth <= e.clientWidth + 1);
        });
    }

    // How a text lies to a shape or to another text: 0 apart, 1 across, 2 inside. Growing may not change it.
    function lies(a, b) {
        if (a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom) return 0;
        return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom ? 2 : 1;
    }
    // The letters of a text, less than its line, and a margin.
    function letters(e, margin) {
        const {left, right, top, bottom} = e.getBoundingClientRect(), high = bottom - top;
        return {left: left - margin, right: right + margin, top: top + 0.12 * high - margin / 2, bottom: bottom - 0.08 * high + margin / 2};
    }
    // A line as small boxes on it: it runs aslant.
    function along(path) {
        const to_screen = path.getScreenCTM(), long = path.getTotalLength(), boxes = [];
        for (let at = 0; at <= long; at += 8) {
            const {x, y} = path.getPointAtLength(at).matrixTransform(to_screen);
            boxes.push({left: x - 1, right: x + 1, top: y - 1, bottom: y + 1});
        }
        return boxes;
    }

    // The texts of a figure that look alike grow together.
    function grow_letters(svg) {
        const paper = svg.getBoundingClientRect(), scale = paper.width / svg.viewBox.baseVal.width;
        const shown = (name) => [...svg.querySelectorAll(name)].filter((e) => !e.closest("defs"));
        const rects = shown("rect").map((e) => e.getBoundingClientRect()), lines = shown("path").map(along);
        const groups = {};
        const texts = [...svg.querySelectorAll("text")].map((e) => {
            const size = parseFloat(e.getAttribute("font-size")), y = parseFloat(e.getAttribute("y"));
            const rect = e.parentElement.hasAttribute("paint-order") && e.parentElement.previousElementSibling; // draw.lua's box
            const middle = rect ? parseFloat(rect.getAttribute("y")) + parseFloat(rect.getAttribute("height")) / 2 : y - 0.35 * size;
            const name = [size, Boolean(rect), e.getAttribute("font-weight"), e.getAttribute("class")].join();
            const group = groups[name] = groups[name] || {by: 1, texts: [], most: Math.min(1.6, 30 / (size * scale))};
            const text = {e, size, y, middle, turned: e.hasAttribute("transform")};
            group.texts.push(text);
            return text;
        });
        const set = (group, by) => group.texts.forEach(({e, size, y, middle, turned}) => {
            e.setAttribute("font-size", size * by);
            if (!turned) e.setAttribute("y", middle + (y - middle) * by);
        });
        // All relations of one group's texts; the margin keeps letters from touching what they grow towards.
        const relations = (group, margin) => {
            const boxes = texts.map(({e}) => letters(e, 0));
            return group.texts.flatMap((text) => {
                const at = letters(text.e, margin);
                return [lies(text.e.getBoundingClientRect(), paper) === 2 ? 0 : -1, ...rects.map((rect) => lies(at, rect)),
                    ...lines.map((line) => (line.some((box) => lies(at, box)) ? 1 : 0)),
                    ...boxes.map((box, n) => (texts[n] === text ? 0 : Math.min(1, lies(at, box))))];
            });
        };
        for (const group of Object.values(groups)) group.before = relations(group, 0);
        const same = (group) => relations(group, 6).every((is, n) => is === 0 || is > 0 && is === group.before[n]);
        let alive = Object.values(groups);
        while (alive.length) {
            alive = alive.filter((group) => {
                const by = group.by + 0.05;
                if (by > group.most) return false;
                set(group, by);
                if (same(group)) {
                    group.by = by;
                    return true;
                }
                set(group, group.by);
                return false;
            });
        }
    }

    for (const slide of document.querySelectorAll("section")) {
        if (slide.matches(".title, .plot")) continue;
        const items = growing(slide);
        let fits = 1, not = 1.6;
        if (!grow(slide, items, not)) {
            for (let n = 0; n < 7; n++) {
                const by = (fits + not) / 2;
                if (grow(slide, items, by)) fits = by; else not = by;
            }
            grow(slide, items, Math.max(1, fits - 0.015)); // a browser that rounds otherwise breaks no line
        }
        slide.querySelectorAll("svg").forEach(grow_letters);
    }
})();
