// Shows one slide at a time, a thought after the other. Right, space, page down: the next step. Left,
// page up: back. Down, up: whole slides. Home, End. p: the presenter's window. Touch or click: the
// right half of the window goes forward, the left half back.
// The address ends in #5 for slide 5, whole, and in #5.2 for its first two steps: a reload stays there,
// and a slide can be sent as a link. NAME.html?notes is every slide with its notes, to be printed.
"use strict";
(() => {
    const slides = [...document.querySelectorAll("section")];
    const page = document.documentElement;

    // ---- steps: the points of a list, questions, what a figure draws behind step(), ::: step and [words]{.step}

    const steps = slides.map((slide) => (slide.matches(".whole, .title") ? [] :
        [...slide.querySelectorAll(".step, .ask, ul > li, ol > li")].filter((e) => !e.closest(".notes"))));
    // The first point of a list that opens the slide is there from the beginning.
    steps.forEach((of, n) => {
        if (of[0] && of[0].parentElement === slides[n].querySelector("h2").nextElementSibling) of.shift();
    });

    let shown = -1, step = 0, presenter = null;

    function show(n, k = 0) {
        n = Math.max(0, Math.min(slides.length - 1, n));
        k = Math.max(0, Math.min(steps[n].length, k));
        if (n !== shown) {
            if (slides[shown]) slides[shown].classList.remove("shown");
            slides[(shown = n)].classList.add("shown");
            document.title = `${n + 1}/${slides.length} ${slides[n].querySelector("h2").textContent}`;
        }
        step = k;
        steps[n].forEach((e, i) => e.classList.toggle("later", i >= k));
        history.replaceState(null, "", k === steps[n].length ? `#${n + 1}` : `#${n + 1}.${k}`);
        if (presenter) tell();
    }
    function forward() {
        if (step < steps[shown].length) show(shown, step + 1);
        else if (shown < slides.length - 1) show(shown + 1);
    }
    function back() {
        if (step > 0) show(shown, step - 1);
        else if (shown > 0) show(shown - 1, Infinity);
    }
    function from_address() {
        const [n, k] = location.hash.slice(1).split(".");
        show(parseInt(n, 10) - 1 || 0, n ? k === undefined ? Infinity : parseInt(k, 10) || 0 : 0);
    }

    // ---- the presenter's window: this slide and what comes next, notes, the clock. Notes are nowhere
    // else. The page behind about:blank is ours, so that it works from a file, too.

    let since = 0;
    function present() {
        const other = window.open("", "presenter", "width=1280,height=800");
        if (!other) {
            alert("The browser did not open the presenter's window: allow this page to open windows.");
            return;
        }
        const d = other.document;
        d.title = "Presenter: " + slides[0].querySelector("h2").textContent;
        d.head.innerHTML = "";
        for (const style of document.querySelectorAll("style")) d.head.append(d.importNode(style, true));
        d.documentElement.className = "presenter";
        d.body.innerHTML = "<div id=now></div><div id=next></div><div id=said></div><p id=clock></p>";
        d.body.querySelector("#clock").title = "A click starts it again.";
        d.body.querySelector("#clock").onclick = () => { since = Date.now(); tick(); };
        since = Date.now();
        presenter = other;
        const fit = () => {
            d.documentElement.style.setProperty("--now", 0.64 * other.innerWidth / 1280);
            d.documentElement.style.setProperty("--next", (0.36 * other.innerWidth - 30) / 1280);
        };
        other.addEventListener("resize", fit);
        other.addEventListener("keydown", key);
        fit();
        tell();
        tick();
    }
    function tell() {
        if (presenter.closed) return;
        const d = presenter.document;
        const last = step === steps[shown].length;
        const put = (id, n, k) => {
            const box = d.querySelector(id);
            box.textContent = "";
            if (!slides[n]) return;
            const copy = d.importNode(slides[n], true);
            copy.classList.remove("shown");
            copy.style.counterSet = `slide ${n + 1}`;
            const same = [...copy.querySelectorAll("*")], of = [...slides[n].querySelectorAll("*")];
            steps[n].forEach((e, i) => same[of.indexOf(e)].classList.toggle("later", i >= k));
            box.append(copy);
        };
        put("#now", shown, step);
        put("#next", last ? shown + 1 : shown, last ? 0 : step + 1);
        const said = d.querySelector("#said"), notes = slides[shown].querySelectorAll(".notes");
        said.textContent = "";
        for (const part of notes) said.append(d.importNode(part, true));
    }
    const two = (x) => String(x).padStart(2, "0");
    function tick() {
        if (!presenter || presenter.closed) return;
        const seconds = Math.floor((Date.now() - since) / 1000), now = new Date();
        const at = steps[shown].length ? `, step ${step} of ${steps[shown].length}` : "";
        presenter.document.querySelector("#clock").textContent =
            `${Math.floor(seconds / 60)}:${two(seconds % 60)}   ${two(now.getHours())}:${two(now.getMinutes())}   ` +
            `slide ${shown + 1} of ${slides.length}${at}`;
    }
    setInterval(tick, 500);

    const keys = {
        ArrowRight: forward, PageDown: forward, " ": forward, ArrowLeft: back, PageUp: back,
        ArrowDown: () => show(shown + 1), ArrowUp: () => show(shown - 1),
        Home: () => show(0), End: () => show(slides.length - 1, Infinity), p: present,
    };
    function key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
        (event.key === " " && event.shiftKey ? back : keys[event.key])();
        if (presenter) tick();
        event.preventDefault();
    }

    // The test measures all slides at once, in their own size.
    if (location.search === "?all") return;
    if (location.search === "?notes") {
        page.classList.add("handout");
        const paper = document.createElement("style");
        paper.textContent = "@page { size: 1280px 1810px; margin: 0; }";
        document.head.append(paper);
        return;
    }
    page.classList.add("live");
    // A hidden slide does not count: its number is told.
    slides.forEach((slide, n) => { slide.style.counterSet = `slide ${n + 1}`; });
    const fit = () => page.style.setProperty("--scale", Math.min(innerWidth / 1280, innerHeight / 720));
    addEventListener("keydown", key);
    addEventListener("click", (event) => {
        if (!event.target.closest("a") && getSelection().isCollapsed)
            (event.clientX < innerWidth / 2 ? back : forward)();
    });
    addEventListener("hashchange", from_address);
    addEventListener("resize", fit);
    fit();
    from_address();
})();
