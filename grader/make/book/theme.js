// theme.js: the reader's choice of light or dark, before anything is drawn. Without one the page is as
// the system asks.
try {
    const chosen = localStorage.getItem("theme");
    if (chosen) document.documentElement.dataset.theme = chosen;
} catch (e) {
    // a browser that keeps nothing for files
}
