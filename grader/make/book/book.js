// book.js: the switch between light and dark, and the search. index.js, made by index.awk, holds
//   bookSections   [where, title, page's title] for each section
//   bookWords      for each word the numbers of the sections that have it, each as its distance from
//                  the one before
"use strict";

document.querySelector(".theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
        localStorage.setItem("theme", root.dataset.theme);
    } catch (e) {
        // the choice is for this page alone
    }
});

// On a wide screen the contents stand beside the text.
if (matchMedia("(min-width: 60.01rem)").matches) {
    for (const list of document.querySelectorAll("nav details")) list.open = true;
}

// The sections of all words that begin so, each with the best of its words: 2 for the very word.
function sectionsOf(beginning) {
    const sections = new Map();
    for (const word in bookWords) {
        if (!word.startsWith(beginning)) continue;
        let section = 0;
        for (const step of bookWords[word]) {
            section += step;
            const weight = word === beginning ? 2 : 1;
            sections.set(section, Math.max(weight, sections.get(section) || 0));
        }
    }
    return sections;
}

// How well a title has the word: 2 for the very word, 1 for the beginning of one.
function inTitle(title, word) {
    const words = title.toLowerCase().match(/[a-z0-9_]+/g) || [];
    return words.includes(word) ? 2 : words.some((w) => w.startsWith(word)) && word.length > 2 ? 1 : 0;
}

// The sections that have all words of the query, the best first: words in titles count most.
function search(query) {
    const words = query.toLowerCase().match(/[a-z0-9_]+/g) || [];
    let scores = null;
    for (const word of words) {
        const found = sectionsOf(word);
        const next = new Map();
        for (const [section, weight] of found) {
            if (scores && !scores.has(section)) continue;
            const [, title, page] = bookSections[section];
            const titled = 4 * inTitle(title, word) + inTitle(page, word);
            next.set(section, (scores ? scores.get(section) : 0) + weight + titled);
        }
        scores = next;
    }
    return [...(scores || [])].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([section]) => bookSections[section]);
}

const input = document.querySelector(".search input");
const found = document.querySelector(".found");
const root = document.querySelector(".home").getAttribute("href").replace(/index\.html$/, "");
const most = 30;

function show() {
    const query = input.value.trim();
    found.hidden = query === "";
    found.textContent = "";
    if (found.hidden) return;
    const results = search(query);
    const words = document.createElement("p");
    words.textContent = results.length === 0 ? "Nothing has all of these words."
        : results.length > most ? `The best ${most} of ${results.length} sections:` : "";
    found.append(words);
    for (const [where, title, page] of results.slice(0, most)) {
        const link = document.createElement("a");
        link.href = root + where;
        link.textContent = title === page ? title : `${page}: ${title}`;
        found.append(link);
    }
}

input.addEventListener("input", show);
document.querySelector(".search").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = found.querySelector("a");
    if (first) first.click();
});
found.addEventListener("click", (event) => {
    if (event.target.closest("a")) found.hidden = true;
});
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== input) {
        event.preventDefault();
        input.focus();
    } else if (event.key === "Escape") {
        input.value = "";
        show();
        input.blur();
    }
});
