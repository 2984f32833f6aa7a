package chromium

// Contrasts is a script for a page. It returns how many elements it has seen, and the weak ones: with too
// little contrast for WCAG 2, which is below 4.5 to 1 for text, and below 3 to 1 for large text, fields
// and the lines of charts.
const Contrasts = `(() => {
  const numbers = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => numbers(c).slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const clear = (c) => c === "transparent" || numbers(c)[3] === 0;
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!clear(c)) return c; } return "rgb(255, 255, 255)"; };
  const weak = new Set();
  let seen = 0;
  const check = (what, color, ground, least) => {
    seen++;
    const r = ratio(color, ground);
    if (r < least) weak.add(what + " " + color + " on " + ground + ": " + r.toFixed(2));
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = texts.nextNode());) {
    const e = n.parentElement, s = getComputedStyle(e);
    if (!n.data.trim() || e.closest("script, title, desc") || !e.getClientRects().length) continue;
    const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && s.fontWeight >= 700;
    check(e.tagName + "." + e.getAttribute("class") + " " + n.data.trim().slice(0, 30), e.closest("svg") ? s.fill : s.color, behind(e.closest("svg")?.parentElement ?? e), large ? 3 : 4.5);
  }
  for (const e of document.querySelectorAll("svg :is(.mark, rect, line, circle)")) {
    if (e.matches(".grid, .neither, .track")) continue; // these only guide the eye
    const s = getComputedStyle(e), ground = behind(e.closest("svg").parentElement);
    check(e.tagName + "." + e.getAttribute("class"), e.matches("line, .open") ? s.stroke : s.fill, ground, 3);
  }
  for (const e of document.querySelectorAll("input, select, textarea, #all")) check(e.tagName + " border", getComputedStyle(e).borderTopColor, behind(e.parentElement), 3);
  return { seen, weak: [...weak] };
})()`
