// Before deck.js: what is on a slide grows until the slide is full: first figures, listings, tables and
// text together, none wider than it may be. Where that is not enough, text grows further, then what is
// as wide as the slide gets higher. Last the letters of a figure, none onto a line or another's.
"use strict";
(() => {
    const bottom_of = (slide) => 720 - parseFloat(getComputedStyle(slide).paddingBottom);
    // The most that each may grow, and the most where the slide is not full by then.
    const parts = {
        svg: ["svg", 1.6, 1.6], pre: ["pre", 1.5, 1.5], table: ["table", 1.35, 1.5], math: ["math[display=block]", 1.3, 1.6],
        text: ["p, ul, ol", 1.2, 1.35],
    };

    // What may grow on a slide, each with the most that its width allows.
    function growing(slide) {
        const items = [];
        for (const [kind, [select, largest, beyond]] of Object.entries(parts))
            for (const e of slide.querySelectorAll(select)) {
                if (e.closest(".notes") || kind === "text" && e.parentElement.closest("li, p, table")) continue;
                const box = e.getBoundingClientRect(), room = e.parentElement.getBoundingClientRect().width;
                let width = 0;
                if (kind === "svg" || kind === "table") width = box.width;
                // The frame of a listing is as wide as the slide; its lines are not.
                // Nor is a formula, whose box is as wide as the slide.
                if (kind === "math") {
                    const at = [...e.querySelectorAll("mi, mn, mo, mtext")].map((part) => part.getBoundingClientRect());
                    width = Math.max(...at.map((b) => b.right)) - Math.min(...at.map((b) => b.left));
                }
                if (kind === "pre") width = (e.firstElementChild || e).getBoundingClientRect().width + 40;
                const fits = width ? Math.max(1, room / width - (kind === "svg" ? 0 : 0.01)) : beyond;
                items.push({e, kind, most: Math.min(largest, fits), beyond: Math.min(beyond, fits), width});
            }
        return items;
    }

    // Sets the size of all to `by`, or less where it is at its most. Does the slide hold them?
    function grow(slide, items, by) {
        for (const {e, kind, most, width} of items)
            // In twelfths, so that a pattern of draw.lua has whole pixels: a PDF then keeps it as lines.
            if (kind === "svg") e.style.width = `${width * Math.floor(12 * Math.min(by, most)) / 12}px`;
            else e.style.setProperty("--grow", Math.min(by, most).toFixed(3));
        return holds(slide);
    }
    function holds(slide) {
        const low = slide.getBoundingClientRect().top + bottom_of(slide);
        return [...slide.querySelectorAll("*")].every((e) => {
            if (e.closest(".notes, defs, svg *, math *")) return true;
            return e.getBoundingClientRect().bottom <= low && (!e.clientWidth || e.scrollWidth <= e.clientWidth + 1);
        });
    }

    // What is as wide as the slide gets `by` times as high: the shapes of a figure, the lines of a listing,
    // the gaps between points and between rows.
    const heights = {svg: 1.35, pre: 1.35, table: 2.6, text: 2.2, math: 2.2};
    function raise(slide, items, by) {
        for (const {e, kind} of items)
            if (kind === "svg") stretch(e, Math.min(by, heights.svg));
            else e.style.setProperty("--air", Math.min(kind === "pre" ? by : 1 + 2.5 * (by - 1), heights[kind]).toFixed(3));
        return holds(slide);
    }
    // Letters keep their shape: the words of a box stay in its middle, others stand on their line.
    function stretch(svg, by) {
        const keep = (e, name) => {
            const known = `was_${name}`.toLowerCase();
            if (!(known in e.dataset)) e.dataset[known] = e.getAttribute(name);
            return e.dataset[known];
        };
        for (const e of svg.querySelectorAll("rect, text, path")) {
            if (e.closest("defs")) continue;
            if (e.localName === "path") {
                let n = 0;
                e.setAttribute("d", keep(e, "d").replace(/-?[\d.]+/g, (x) => (n++ % 2 ? x * by : x)));
                continue;
            }
            const y = parseFloat(keep(e, "y"));
            const rect = e.localName === "text" && e.parentElement.hasAttribute("paint-order") && e.parentElement.previousElementSibling;
            const middle = rect ? parseFloat(keep(rect, "y")) + parseFloat(keep(rect, "height")) / 2 : y;
            e.setAttribute("y", middle * by + y - middle);
            if (e.localName === "rect") e.setAttribute("height", keep(e, "height") * by);
            if (e.hasAttribute("transform")) { // turned along a line that is steeper now
                const [turn, x] = keep(e, "transform").match(/-?[\d.]+/g).map(Number);
                const steeper = Math.abs(turn) === 90 ? turn : Math.atan(by * Math.tan(turn * Math.PI / 180)) * 180 / Math.PI;
                e.setAttribute("transform", `rotate(${steeper} ${x} ${y * by})`);
            }
        }
        const [left, top, width, height] = keep(svg, "viewBox").split(" ");
        svg.setAttribute("viewBox", [left, top, width, height * by].join(" "));
        svg.setAttribute("height", keep(svg, "height") * by);
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
        // The largest that fits, from 1 to `most`, less a little: a browser that rounds otherwise breaks no line.
        const fill = (set, most) => {
            let fits = 1, not = most;
            if (set(most)) return true;
            for (let n = 0; n < 7; n++) {
                const by = (fits + not) / 2;
                if (set(by)) fits = by; else not = by;
            }
            set(Math.max(1, fits - 0.015));
            return false;
        };
        const more = (by) => items.map((item) => ({...item, most: Math.max(item.most, Math.min(item.beyond, item.most * by))}));
        if (fill((by) => grow(slide, items, by), 1.6)) fill((by) => grow(slide, more(by), 1.6), 1.4);
        fill((by) => raise(slide, items, by), 1.5);
        slide.querySelectorAll("svg").forEach(grow_letters);
    }
})();
