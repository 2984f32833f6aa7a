(() => {
  "use strict";
  const $ = (selector) => document.querySelector(selector);
  const typing = (target) => target.closest("input, select, textarea, dialog") !== null;

  // The marks of a page are its steps, hits or rows. j and k go through them.
  const marks = () => [...document.querySelectorAll("[data-mark]")];
  let here = null;

  function go(mark) {
    if (!mark) return;
    if (here) here.classList.remove("here");
    here = mark;
    here.classList.add("here");
    here.scrollIntoView({ block: "start" });
    here.focus({ preventScroll: true });
    if (here.id) history.replaceState(null, "", "#" + here.id);
  }

  function move(by) {
    const list = marks();
    if (!list.length) return false;
    let at = list.indexOf(here);
    if (at < 0) at = list.findIndex((m) => m.getBoundingClientRect().bottom > 60) - (by > 0 ? 1 : 0);
    const next = at + by;
    if (next >= list.length) return follow("next");
    if (next < 0) return follow("prev");
    go(list[next]);
    return true;
  }

  function flagged(by) {
    const list = marks();
    for (let i = list.indexOf(here) + by; i >= 0 && i < list.length; i += by) {
      if (list[i].dataset.mark === "flag") { go(list[i]); return true; }
    }
    return false;
  }

  function follow(rel) {
    const link = $(`a[rel="${rel}"]`);
    if (link) link.click();
    return link !== null;
  }

  const keys = {
    j: () => move(1), k: () => move(-1), n: () => flagged(1), p: () => flagged(-1),
    "]": () => follow("next"), "[": () => follow("prev"),
    g: () => scrollTo(0, 0), G: () => scrollTo(0, document.body.scrollHeight),
    o: () => { const d = (here || document).querySelectorAll("details"); const open = [...d].some((x) => !x.open); d.forEach((x) => { x.open = open; }); },
    u: () => follow("up"),
    "/": () => { const f = $("#find"); if (f) { f.focus(); f.select(); } else location.assign("/search"); },
    "?": () => dialog.showModal(),
  };

  const dialog = $("#keys");
  $("#keys button").addEventListener("click", () => dialog.close());

  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return;
    const act = keys[e.key];
    if (act && act() !== false) e.preventDefault();
  });
  const help = $("#help");
  if (help) { help.hidden = false; help.addEventListener("click", () => dialog.showModal()); }
  if (location.hash) {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.dataset.mark !== undefined) { here = target; here.classList.add("here"); }
  }

  // A table that is wider than its place says so, unless only the space after its last column is hidden.
  function widths() {
    for (const part of document.querySelectorAll(".scroll")) part.classList.toggle("scrolls", part.scrollWidth > part.clientWidth + 12);
  }
  addEventListener("resize", widths);
  widths();

  // A step that was shown before its end is shown anew, with its open folds.
  function renew(was, now) {
    const focused = was === document.activeElement;
    const open = [...was.querySelectorAll("details")].map((d) => d.open);
    now.querySelectorAll("details").forEach((d, i) => { d.open = open[i] || d.open; });
    was.replaceWith(now);
    if (here === was) { here = now; here.classList.add("here"); }
    if (focused) now.focus({ preventScroll: true });
  }

  const newID = () => Array.from(crypto.getRandomValues(new Uint8Array(26)), (b) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[b % 32]).join("");

  // Changes an element to another one. What stays keeps its focus, its scroll position and typed text, and
  // can be clicked meanwhile.
  function become(was, now) {
    const id = (e) => e.getAttribute?.("id"); // e.id of a form may be a field
    if (was.nodeName !== now.nodeName || id(was) !== id(now)) return was.replaceWith(now);
    if (was.nodeType !== Node.ELEMENT_NODE) return was.data = now.data;
    for (const name of new Set([...was.getAttributeNames(), ...now.getAttributeNames()])) {
      if (name === "open") continue; // a person opens and closes it
      if (name === "value" && was.name === "id") continue; // a form that is sent twice must act once
      if (now.hasAttribute(name)) was.setAttribute(name, now.getAttribute(name)); else was.removeAttribute(name);
    }
    const [old, next] = [[...was.childNodes], [...now.childNodes]];
    next.forEach((n, i) => { if (i < old.length) become(old[i], n); else was.append(n); });
    for (const n of old.slice(next.length)) n.remove();
  }

  // A live part is replaced, or grows, by what the server sends. The connection is closed while
  // the page is not visible: a browser has few of them.
  for (const part of document.querySelectorAll("[data-live]")) {
    let source = null;
    const start = () => {
      if (source || document.hidden) return;
      const url = new URL(part.dataset.live, location.href);
      const last = part.lastElementChild;
      if (part.dataset.grows !== undefined && last && last.dataset.from) url.searchParams.set("from", last.dataset.from - 1); // it may have been incomplete
      source = new EventSource(url);
      source.addEventListener("replace", (e) => {
        const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
        const now = part.cloneNode(false);
        now.innerHTML = e.data;
        for (const form of now.querySelectorAll("input[name=id]")) form.value = newID(); // all readers are sent the same
        become(part, now);
        widths();
        if (focused && document.activeElement.getAttribute("href") !== focused) [...part.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
      });
      source.addEventListener("append", (e) => {
        part.insertAdjacentHTML("beforeend", e.data);
        const same = [...part.children].find((x) => x.id === part.lastElementChild.id);
        if (same !== part.lastElementChild) renew(same, part.lastElementChild);
      });
      source.addEventListener("end", () => { stop(); part.dataset.live = ""; });
    };
    const stop = () => { if (source) { source.close(); source = null; } };
    document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else if (part.dataset.live) start(); });
    addEventListener("pagehide", stop);
    start();
  }

  // A head with data-sort orders the rows of its table. What is not known comes last, in both directions.
  const names = new Intl.Collator("en", { numeric: true });
  function value(cell, numeric) {
    if (!numeric) return cell.textContent;
    const v = parseFloat(cell.dataset.v ?? cell.textContent);
    return Number.isNaN(v) ? null : v;
  }
  function sort(head, heads, body) {
    const numeric = head.dataset.sort === "n";
    const now = head.getAttribute("aria-sort");
    const down = now ? now === "ascending" : numeric;
    for (const h of heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = [...body.rows].map((row) => ({ row, v: value(row.cells[head.cellIndex], numeric) }));
    keyed.sort((a, b) => {
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
      const order = numeric ? a.v - b.v : names.compare(a.v, b.v);
      return down ? -order : order;
    });
    body.append(...keyed.map((k) => k.row));
  }
  const heads = [...document.querySelectorAll("th[data-sort]")];
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, heads, head.closest("table").tBodies[0]));
    head.append(button);
  }

  // The filter hides rows by their names, and by the states of the entries.
  const filter = $("#filter");
  if (filter) {
    const rows = [...document.querySelectorAll("tr[data-s]")].map((row) => ({
      row, states: row.dataset.s, text: heads.filter((h) => h.dataset.sort === "t").map((h) => row.cells[h.cellIndex].textContent).join(" ").toLowerCase(),
    }));
    const fields = [...filter.querySelectorAll("input, select")];
    const choices = fields.filter((f) => f.dataset.entry);
    const matches = {
      "": () => true,
      all: (s) => /^r+$/.test(s),
      some: (s) => /[rp]/.test(s) && !/^r+$/.test(s),
      none: (s) => !/[rp]/.test(s),
      left: (s) => s.includes("x"),
    };
    const apply = () => {
      const words = $("#find").value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const r of rows) {
        r.row.hidden = !(matches[$("#by").value](r.states) &&
          choices.every((c) => !c.value || r.states[c.dataset.entry] === c.value) &&
          words.every((w) => r.text.includes(w)));
        if (!r.row.hidden) shown++;
      }
      $("#count").textContent = `${shown} of ${rows.length} ${rows.length === 1 ? "instance" : "instances"}`;
    };
    filter.hidden = false;
    filter.addEventListener("input", apply);
    $("#all").addEventListener("click", () => { for (const f of fields) f.value = ""; apply(); });
    apply();
  }

  // Paper has nothing to open. A trajectory would be very long.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll(".folds details:not([open])")];
    for (const d of closed) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of closed) d.open = false; });

  // Search results arrive while the search continues.
  for (const box of document.querySelectorAll("[data-stream]")) {
    const status = $("#searching");
    const source = new EventSource(box.dataset.stream);
    source.addEventListener("append", (e) => { box.insertAdjacentHTML("beforeend", e.data); });
    source.addEventListener("status", (e) => { status.textContent = e.data; });
    source.addEventListener("end", (e) => { status.textContent = e.data; source.close(); });
    source.addEventListener("error", () => { // a browser would search again
      source.close();
      if (status.textContent === "Searching.") status.textContent = "The search broke off: load the page again.";
    });
    addEventListener("pagehide", () => source.close());
  }
})();
