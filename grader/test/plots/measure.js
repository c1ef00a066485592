// measure.js: what plots.sh lets Chromium run at the end of a page of plots, each an <svg> with its
// file's name as id. The page becomes a text: "plots N", and a line for each fault.
"use strict";
const faults = [];
const plots = [...document.querySelectorAll("svg")];
const smallest = 16; // pixels of a letter, in a plot 960 wide

for (const plot of plots) {
    const fault = (what) => faults.push(`${plot.id}: ${what}`);
    const paper = plot.getBoundingClientRect();
    // The line of a text is higher than its letters.
    const texts = [...plot.querySelectorAll("text")].map((e) => {
        const box = e.getBoundingClientRect();
        return {words: e.textContent, size: parseFloat(getComputedStyle(e).fontSize), turned: e.getScreenCTM().b !== 0,
            left: box.left, right: box.right, top: box.top + 0.2 * box.height, bottom: box.bottom - 0.15 * box.height};
    });
    if (paper.width !== 960) fault(`is ${paper.width} wide, not 960`);
    texts.forEach((a, n) => {
        if (a.size < smallest) fault(`letters of ${a.size} pixels: "${a.words}"`);
        if (a.left < paper.left || a.right > paper.right || a.top < paper.top || a.bottom > paper.bottom)
            fault(`leaves the plot: "${a.words}"`);
        for (const b of texts.slice(n + 1))
            if (!a.turned && !b.turned && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
                fault(`"${a.words}" lies on "${b.words}"`);
    });
}
const text = [`plots ${plots.length}`, ...faults].join("\n");
document.documentElement.innerHTML = "<body></body>";
document.body.append(document.createElement("pre"));
document.querySelector("pre").textContent = text;
