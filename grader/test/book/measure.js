// measure.js: is every page of the book as it should be on screens of two widths, light and dark?
// frames.html has a frame for each page and width; what is wrong goes into a <pre>, a line each.
// Chromium runs it with --allow-file-access-from-files: a page may look into its frames.
"use strict";

const said = [];

// What of the page sticks out of the screen and does not scroll in a box of its own.
function wide(frame) {
    const page = frame.contentDocument;
    const width = frame.clientWidth;
    if (page.documentElement.scrollWidth > width) said.push(`${frame.name}: is ${page.documentElement.scrollWidth} wide`);
    for (const element of page.body.querySelectorAll("*")) {
        if (element.closest(".skip, [hidden]") || element.getClientRects().length === 0) continue;
        if (element.getBoundingClientRect().right <= width + 1 || element.closest("math")) continue;
        let box = element.parentElement;
        while (box && !/auto|scroll/.test(getComputedStyle(box).overflowX)) box = box.parentElement;
        if (!box) said.push(`${frame.name}: <${element.localName}> sticks out: ${element.textContent.trim().slice(0, 40)}`);
        else if (!box.matches("pre, .scroll, .sourceCode, math")) said.push(`${frame.name}: <${box.localName}> scrolls sideways`);
    }
    for (const box of page.querySelectorAll("main pre, .scroll, .sourceCode"))
        if (box.scrollWidth > box.clientWidth && box.tabIndex !== 0) said.push(`${frame.name}: a box scrolls by no key`);
}

function pictures(frame) {
    for (const img of frame.contentDocument.images)
        if (!img.naturalWidth) said.push(`${frame.name}: ${img.getAttribute("src")} is no picture`);
        else if (!img.alt) said.push(`${frame.name}: ${img.getAttribute("src")} has no words`);
}

function luminance(colour) {
    const [r, g, b] = colour.match(/[\d.]+/g).map((c) => {
        c /= 255;
        return c <= 0.04 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Letters and their ground: at least 4.5 to 1, and letters of 12 pixels and more.
function letters(frame, theme) {
    const page = frame.contentDocument;
    page.documentElement.dataset.theme = theme;
    const seen = new Set();
    for (const element of page.querySelectorAll("main *, nav *, header *")) {
        if (![...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || element.closest("math, svg")) continue;
        const style = getComputedStyle(element);
        let under = element;
        while (under && getComputedStyle(under).backgroundColor === "rgba(0, 0, 0, 0)") under = under.parentElement;
        const ground = under ? getComputedStyle(under).backgroundColor : "rgb(255, 255, 255)";
        const key = `${style.color} on ${ground}`;
        if (parseFloat(style.fontSize) < 12) said.push(`${frame.name}: letters of ${style.fontSize}: ${element.textContent.slice(0, 30)}`);
        if (seen.has(key)) continue;
        seen.add(key);
        const [a, b] = [luminance(style.color), luminance(ground)].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) said.push(`${frame.name}: ${theme}: ${key}: ${element.textContent.slice(0, 30)}`);
    }
    for (const img of page.querySelectorAll("main img.white")) {
        const turned = getComputedStyle(img).filter !== "none";
        if (turned !== (theme === "dark")) said.push(`${frame.name}: ${theme}: a picture on white is ${turned ? "" : "not "}turned`);
    }
    delete page.documentElement.dataset.theme;
}

// The switch turns the page, and back.
function theme(frame) {
    const page = frame.contentDocument;
    const ground = () => getComputedStyle(page.body).backgroundColor;
    const before = ground();
    page.querySelector(".theme").click();
    const between = ground();
    page.querySelector(".theme").click();
    if (before === between || before !== ground()) said.push(`${frame.name}: the switch of light and dark: ${before}, ${between}, ${ground()}`);
}

// Each query finds first what it should (queries, in frames.html), and a word that is nowhere nothing.
function searches(frame) {
    const page = frame.contentDocument;
    const input = page.querySelector(".search input");
    const links = (query) => {
        input.value = query;
        input.dispatchEvent(new Event("input"));
        return [...page.querySelectorAll(".found a")].map((a) => a.getAttribute("href"));
    };
    for (const [query, wanted] of queries) {
        const found = links(query);
        if (!found[0] || found[0].split("#")[0] !== wanted) said.push(`${frame.name}: "${query}" finds ${found[0]}, not ${wanted}`);
    }
    if (links("zzyzx").length || page.querySelector(".found").hidden) said.push(`${frame.name}: "zzyzx" is found`);
    links("");
    if (!page.querySelector(".found").hidden) said.push(`${frame.name}: nothing is searched, and results are shown`);
    page.dispatchEvent(new KeyboardEvent("keydown", {key: "/"}));
    if (page.activeElement !== input) said.push(`${frame.name}: / does not lead to the search`);
}

window.addEventListener("load", () => {
    let frames = 0;
    for (const frame of document.querySelectorAll("iframe")) {
        frames++;
        wide(frame);
        pictures(frame);
        // The same letters on every screen, and the contents beside them on a wide one.
        if (frame.clientWidth > 960) {
            letters(frame, "light");
            letters(frame, "dark");
        }
        const open = frame.contentDocument.querySelector("nav details");
        if (open && open.open !== frame.clientWidth > 960) said.push(`${frame.name}: the contents are ${open.open ? "open" : "closed"}`);
    }
    const first = document.querySelector("iframe");
    theme(first);
    searches(first);
    const pre = document.createElement("pre");
    pre.id = "said";
    pre.textContent = `${frames} frames\n${said.join("\n")}\n`;
    document.body.textContent = "";
    document.body.append(pre);
});
