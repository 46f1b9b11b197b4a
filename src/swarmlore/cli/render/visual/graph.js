"use strict";
// The data is text that others wrote: it only ever reaches the page as textContent.
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = { technology: "#2f7ed8", tool: "#1f9d8f", error: "#d64545", pattern: "#8e5bd0", function: "#c9871f",
  concept: "#5d7894", config: "#7a8f2a", note: "#b0699b", artifact: "#8a6d4f" };
const OTHER = "#7d8590";
const $ = (id) => document.getElementById(id);
const canvas = $("graph");
let pen = canvas ? canvas.getContext("2d") : null;
const nodes = data.nodes, edges = data.edges, notes = data.notes;
const around = nodes.map(() => []);
edges.forEach((edge, at) => { around[edge.s].push(at); around[edge.t].push(at); });
const off = new Set();
let view = { x: 0, y: 0, k: 1 }, chosen = -1, near = new Set(), due = false, colours = {}, frames = 0;

const colourOf = (type) => Object.hasOwn(COLOURS, type) ? COLOURS[type] : OTHER;  // a type may be called constructor
const radius = (node) => Math.min(20, 3 + 2.2 * Math.sqrt(node.c));
const shown = (node) => !off.has(node.t);
const element = (name, text, cls) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = { fg: style.getPropertyValue("--fg"), edge: style.getPropertyValue("--edge"),
    bg: style.getPropertyValue("--bg"), accent: style.getPropertyValue("--accent") };
}

// A large graph takes a while to paint. It is painted once, with a margin, on a sheet of its own; while the view moves
// the sheet is moved and scaled, and painted anew when it holds still or the view leaves it.
const MOST_LABELS = 160, MARGIN = 1.5, REST_MS = 140, QUICK_MS = 7;
const sheet = document.createElement("canvas");
let drawn = null, stale = true, moving = 0, cost = 0;

function resize() {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(innerWidth * ratio);
  canvas.height = Math.round(innerHeight * ratio);
  sheet.width = Math.round(canvas.width * MARGIN);
  sheet.height = Math.round(canvas.height * MARGIN);
  draw();
}

function draw() { stale = true; soon(); }

function soon() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; frames += 1; frame(); });
}

function move() {
  clearTimeout(moving);
  moving = setTimeout(() => { moving = 0; draw(); }, REST_MS);
  soon();
}

function covered() {
  if (!drawn) return false;
  const k = view.k / drawn.k, free = { x: innerWidth / 2 * (MARGIN * k - 1), y: innerHeight / 2 * (MARGIN * k - 1) };
  const gap = { x: Math.abs(view.x - drawn.x) * view.k, y: Math.abs(view.y - drawn.y) * view.k };
  return k > 0.3 && k < 4 && (gap.x <= free.x || k < 0.9) && (gap.y <= free.y || k < 0.9);
}

function frame() {
  if (stale || !covered() || !moving || cost < QUICK_MS) repaint();
  const ratio = canvas.width / innerWidth, k = view.k / drawn.k;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(sheet, canvas.width / 2 + (drawn.x - view.x) * view.k * ratio - sheet.width / 2 * k,
    canvas.height / 2 + (drawn.y - view.y) * view.k * ratio - sheet.height / 2 * k, sheet.width * k, sheet.height * k);
}

function repaint() {
  const began = performance.now(), screen = pen;
  pen = sheet.getContext("2d");
  paint();
  pen = screen;
  cost = performance.now() - began;
  drawn = { ...view };
  stale = false;
}

function paint() {
  const ratio = canvas.width / innerWidth, k = view.k * ratio;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, sheet.width, sheet.height);
  pen.setTransform(k, 0, 0, k, sheet.width / 2 - view.x * k, sheet.height / 2 - view.y * k);
  const half = { x: MARGIN * innerWidth / 2 / view.k + 40, y: MARGIN * innerHeight / 2 / view.k + 40 };
  const inside = (n) => Math.abs(n.x - view.x) < half.x && Math.abs(n.y - view.y) < half.y;
  paintEdges(inside);
  paintNodes(inside);
  paintLabels(inside);
}

function paintEdges(inside) {
  const strokes = [[], []];
  for (const edge of edges) {
    const a = nodes[edge.s], b = nodes[edge.t];
    if (!shown(a) || !shown(b) || !(inside(a) || inside(b))) continue;
    strokes[chosen >= 0 && (edge.s === chosen || edge.t === chosen) ? 1 : 0].push(a, b);
  }
  strokes.forEach((ends, strong) => {
    pen.beginPath();
    for (let i = 0; i < ends.length; i += 2) { pen.moveTo(ends[i].x, ends[i].y); pen.lineTo(ends[i + 1].x, ends[i + 1].y); }
    pen.globalAlpha = strong ? 0.95 : chosen >= 0 ? 0.12 : 0.32;
    pen.lineWidth = (strong ? 2 : 1) / view.k;
    pen.strokeStyle = strong ? colours.accent : colours.edge;
    pen.stroke();
  });
  pen.globalAlpha = 1;
}

function paintNodes(inside) {
  const groups = new Map();
  nodes.forEach((node, at) => {
    if (!shown(node) || !inside(node)) return;
    const faded = chosen >= 0 && at !== chosen && !near.has(at);
    const key = (faded ? "0" : "1") + colourOf(node.t);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  });
  for (const [key, group] of groups) {
    pen.beginPath();
    for (const node of group) { const r = radius(node); pen.moveTo(node.x + r, node.y); pen.arc(node.x, node.y, r, 0, 7); }
    pen.globalAlpha = key[0] === "1" ? 1 : 0.25;
    pen.fillStyle = key.slice(1);
    pen.fill();
  }
  pen.globalAlpha = 1;
  if (chosen >= 0) {
    const node = nodes[chosen];
    pen.beginPath();
    pen.arc(node.x, node.y, radius(node) + 4 / view.k, 0, 7);
    pen.lineWidth = 2.5 / view.k;
    pen.strokeStyle = colours.accent;
    pen.stroke();
  }
}

// Labels: the most mentioned first, none over another, so that they stay readable at every zoom.
function paintLabels(inside) {
  const size = 12 / view.k, taken = [];
  pen.font = size + "px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.lineWidth = 3 / view.k;
  pen.strokeStyle = colours.bg;
  pen.fillStyle = colours.fg;
  const order = chosen >= 0 ? [chosen, ...near] : data.order;
  for (const at of order) {
    const node = nodes[at];
    if (taken.length >= MOST_LABELS) break;
    if (!shown(node) || !inside(node)) continue;
    const label = node.n.length > 34 ? node.n.slice(0, 33) + "…" : node.n;
    const wide = label.length * 6.6 / view.k / 2, below = node.y + radius(node) + size;
    const box = [node.x - wide, below - size, node.x + wide, below + size / 3];
    const meets = (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
    if (at !== chosen && taken.some(meets)) continue;
    taken.push(box);
    pen.strokeText(label, node.x, below);
    pen.fillText(label, node.x, below);
  }
}

function at(px, py) {
  const x = (px - innerWidth / 2) / view.k + view.x, y = (py - innerHeight / 2) / view.k + view.y;
  let best = -1, least = Infinity;
  nodes.forEach((node, number) => {
    if (!shown(node)) return;
    const gap = Math.hypot(node.x - x, node.y - y) - radius(node);
    if (gap < least) { least = gap; best = number; }
  });
  return least * view.k < 8 ? best : -1;
}

function zoom(factor, px = innerWidth / 2, py = innerHeight / 2) {
  const k = Math.min(12, Math.max(0.02, view.k * factor));
  view.x += (px - innerWidth / 2) * (1 / view.k - 1 / k);
  view.y += (py - innerHeight / 2) * (1 / view.k - 1 / k);
  view.k = k;
  move();
}

function fit() {
  const seen = nodes.filter(shown);
  if (!seen.length) return;
  const xs = seen.map((n) => n.x), ys = seen.map((n) => n.y);
  const low = [Math.min(...xs), Math.min(...ys)], high = [Math.max(...xs), Math.max(...ys)];
  const beside = innerWidth > 720 ? $("top").offsetWidth : 0;  // what the card on the left covers
  const k = Math.min((innerWidth - beside) / (high[0] - low[0] + 120), innerHeight / (high[1] - low[1] + 120), 2.5);
  view = { x: (low[0] + high[0] - beside / k) / 2, y: (low[1] + high[1]) / 2, k };
  draw();
}

function choose(number, move) {
  chosen = number;
  near = new Set();
  if (number >= 0) for (const e of around[number]) near.add(edges[e].s === number ? edges[e].t : edges[e].s);
  tell();
  if (number >= 0 && move) show(nodes[number]);
  draw();
}

// In the middle of what the cards leave free: on a narrow page the panel covers the lower half.
function show(node) {
  const narrow = innerWidth <= 720, panel = $("panel"), card = $("top");
  const across = narrow ? 0 : (panel.offsetWidth - card.offsetWidth) / 2;
  const down = narrow ? (panel.offsetHeight - card.offsetTop - card.offsetHeight) / 2 : 0;
  view.k = Math.max(view.k, 1.1);
  view.x = node.x + across / view.k;
  view.y = node.y + down / view.k;
}

function part(title, items) {
  if (!items.length) return [];
  return [element("h3", title + " (" + items.length + ")"), ...items];
}

function tell() {
  const panel = $("panel"), body = $("about");
  panel.hidden = chosen < 0;
  if (chosen < 0) return;
  const node = nodes[chosen];
  body.replaceChildren(element("h2", node.n), element("p", node.t, "dim"));
  if (node.a) body.append(element("p", node.a));
  body.append(...part("Relations", around[chosen].filter((e) => edges[e].k).map(relation)));
  body.append(...part("Notes", node.m.map((number) => note(notes[number]))));
  const others = [...near].filter((other) => shown(nodes[other]));
  body.append(...part("Neighbours", others.map((other) => link(nodes[other].n, other))));
  panel.scrollTop = 0;
}

function link(text, number) {
  const made = element("button", undefined, "link"), dot = element("span", undefined, "dot");
  made.type = "button";
  dot.style.background = colourOf(nodes[number].t);
  made.append(dot, " " + text);
  made.addEventListener("click", () => { choose(number, true); $("close").focus(); });
  return made;
}

function relation(e) {
  const edge = edges[e], out = edge.s === chosen, other = out ? edge.t : edge.s;
  return link((out ? "—" + edge.k + "→ " : "←" + edge.k + "— ") + nodes[other].n, other);
}

function note(one) {
  const made = element("details");
  made.append(element("summary", (one.h || one.x).slice(0, 90)), element("div", one.x, "text"));
  made.append(element("div", one.p, "dim"));
  return made;
}

function search() {
  const asked = $("search").value.trim().toLowerCase(), list = $("found");
  list.replaceChildren();
  if (!asked) return;
  const fits = data.order.filter((n) => shown(nodes[n]) && nodes[n].n.toLowerCase().includes(asked)).slice(0, 30);
  for (const number of fits) {
    const item = element("li");
    const made = link(nodes[number].n, number);
    item.append(made);
    list.append(item);
  }
  if (!fits.length) list.append(element("li", "Nothing is called like that.", "dim"));
}

function types() {
  const counts = new Map();
  for (const node of nodes) counts.set(node.t, (counts.get(node.t) || 0) + 1);
  for (const [type, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    const label = element("label"), box = element("input"), dot = element("span", undefined, "dot");
    box.type = "checkbox";
    box.checked = true;
    dot.style.background = colourOf(type);
    box.addEventListener("change", () => {
      if (box.checked) off.delete(type); else off.add(type);
      if (chosen >= 0 && !shown(nodes[chosen])) choose(-1);
      search(); tell(); draw();
    });
    label.append(box, dot, type + " " + count);
    $("types").append(label);
  }
}

function listen() {
  const fingers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); fingers.set(e.pointerId, e); moved = 0; });
  canvas.addEventListener("pointermove", (e) => {
    const before = fingers.get(e.pointerId);
    if (!before) return;
    if (fingers.size === 1) {
      view.x -= (e.clientX - before.clientX) / view.k;
      view.y -= (e.clientY - before.clientY) / view.k;
    } else {
      const other = [...fingers.values()].find((f) => f.pointerId !== e.pointerId);
      const gap = (f) => Math.hypot(f.clientX - other.clientX, f.clientY - other.clientY) || 1;
      zoom(gap(e) / gap(before), (e.clientX + other.clientX) / 2, (e.clientY + other.clientY) / 2);
    }
    moved += Math.abs(e.clientX - before.clientX) + Math.abs(e.clientY - before.clientY);
    fingers.set(e.pointerId, e);
    move();
  });
  const end = (e) => {
    if (fingers.delete(e.pointerId) && moved < 5 && e.type === "pointerup") choose(at(e.clientX, e.clientY));
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(-e.deltaY * 0.0015), e.clientX, e.clientY); }, { passive: false });
  addEventListener("resize", resize);
  addEventListener("keydown", keys);
  $("search").addEventListener("input", search);
  $("search").addEventListener("keydown", (e) => {
    const first = $("found").querySelector("button");
    if (e.key === "Enter" && first) first.click();
  });
  $("in").addEventListener("click", () => zoom(1.4));
  $("out").addEventListener("click", () => zoom(1 / 1.4));
  $("all").addEventListener("click", fit);
  $("close").addEventListener("click", () => { choose(-1); canvas.focus(); });
}

function keys(e) {
  if (e.key === "Escape") { choose(-1); $("search").value = ""; search(); canvas.focus(); return; }
  if (e.target === $("search") || e.ctrlKey || e.metaKey || e.altKey) return;
  const far = 60 / view.k;
  const moves = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far] };
  if (e.key === "/") { e.preventDefault(); $("search").focus(); }
  else if (e.key === "+" || e.key === "=") zoom(1.25);
  else if (e.key === "-") zoom(0.8);
  else if (e.key === "0") fit();
  else if ((e.key === "n" || e.key === "p") && data.order.length) walk(e.key === "n" ? 1 : -1);
  else if (moves[e.key] && e.target === canvas) { e.preventDefault(); view.x += moves[e.key][0]; view.y += moves[e.key][1]; move(); }
}

// n and p walk through the entities, most mentioned first, so that no mouse is needed.
function walk(way) {
  const seen = data.order.filter((n) => shown(nodes[n]));
  const place = seen.indexOf(chosen);
  choose(seen[(place < 0 ? (way > 0 ? 0 : seen.length - 1) : place + way + seen.length) % seen.length], true);
}

function theme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (on) => { root.dataset.theme = on ? "dark" : "light"; readColours(); if (canvas) draw(); };
  set(dark.matches);
  dark.addEventListener("change", () => set(dark.matches));
  if ($("theme")) $("theme").addEventListener("click", () => set(root.dataset.theme !== "dark"));
}

theme();
if (canvas) {
  types();
  listen();
  resize();
  fit();
  const place = (n) => ({ x: (nodes[n].x - view.x) * view.k + innerWidth / 2, y: (nodes[n].y - view.y) * view.k + innerHeight / 2 });
  window.swarmlore = { frames: () => frames, choose, place, find: (name) => nodes.findIndex((n) => n.n === name) };
}
