// Shows one slide at a time. Right, space, page down: forward. Left, page up: back. Home, End. n:
// notes. Touch or click: the right half of the window goes forward, the left half back.
"use strict";
(() => {
    const slides = [...document.querySelectorAll("section")];
    const page = document.documentElement;
    let shown = -1;

    // The address ends in #5 for slide 5: a reload stays there, and a slide can be sent as a link.
    function show(n) {
        n = Math.max(0, Math.min(slides.length - 1, n));
        if (n === shown) return;
        if (slides[shown]) slides[shown].classList.remove("shown");
        slides[(shown = n)].classList.add("shown");
        document.title = `${n + 1}/${slides.length} ${slides[n].querySelector("h2").textContent}`;
        history.replaceState(null, "", `#${n + 1}`);
    }
    function fit() {
        page.style.setProperty("--scale", Math.min(innerWidth / 1280, innerHeight / 720));
    }

    const steps = {
        ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1,
        Home: -Infinity, End: Infinity,
    };
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        if (event.key === "n") page.classList.toggle("speaker");
        else if (event.key in steps) show(shown + steps[event.key] * (event.key === " " && event.shiftKey ? -1 : 1));
        else return;
        event.preventDefault();
    });
    addEventListener("click", (event) => {
        if (!event.target.closest("a, .notes") && getSelection().isCollapsed)
            show(shown + (event.clientX < innerWidth / 2 ? -1 : 1));
    });
    addEventListener("hashchange", () => show(parseInt(location.hash.slice(1), 10) - 1 || 0));
    addEventListener("resize", fit);

    // The test measures all slides at once, in their own size.
    if (location.search === "?all") return;
    page.classList.add("live");
    // A hidden slide does not count: its number is told.
    slides.forEach((slide, n) => { slide.style.counterSet = `slide ${n + 1}`; });
    fit();
    show(parseInt(location.hash.slice(1), 10) - 1 || 0);
})();
