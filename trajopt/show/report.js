"use strict";
// Charts with a shared time cursor and a shared stretch of time (drag to zoom, double click to reset), and the animation. The page contains its data; nothing is loaded.
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"];
const DASHES = ["", "7 4", "8 3 2 3", "2 3"];
const SHADES = { lower: "#56B4E9", upper: "#E69F00", singular: "#CC79A7" };
const NAMESPACE = "http://www.w3.org/2000/svg";

function make(tag, attributes, parent, text) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

const written = (value, digits = 6) => String(Number(value.toPrecision(digits)));

function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

function pathThrough(points) {
  let text = "", pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) { pen = "M"; continue; }
    text += pen + x.toFixed(2) + " " + y.toFixed(2);
    pen = "L";
  }
  return text;
}

// Charts ---------------------------------------------------------------------------------------------------------------------

const SEVERAL = data.phases.length > 1, STRIP = 14, LETTER = 6.2;  // the strip has the names of the phases
const WIDTH = 360, HEIGHT = 170, LEFT = 56, RIGHT = 8, TOP = SEVERAL ? 8 + STRIP : 8, BOTTOM = 22;
const charts = [], redraws = [];
let view = data.span;

function look(start, end) {
  view = [start, end];
  for (const draw of redraws) draw();
}

function range(panel) {
  let low = Infinity, high = -Infinity;
  for (const line of panel.lines) for (const [times, values] of line.segments) values.forEach((v, i) => {
    if (v !== null && times[i] >= view[0] && times[i] <= view[1]) { low = Math.min(low, v); high = Math.max(high, v); }
  });
  if (!(low <= high)) return [-1, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low < 1e-6 * size || size === 0) { low -= 0.1 * size || 1; high += 0.1 * size || 1; }  // rounding is not magnified
  const margin = 0.08 * (high - low);
  return [low - margin, high + margin];
}

function valueAt([times, values], t) {
  if (!times.length || t < times[0] || t > times[times.length - 1]) return null;
  let a = 0, b = times.length - 1;
  while (b - a > 1) { const m = (a + b) >> 1; if (times[m] <= t) a = m; else b = m; }
  if (values[a] === null || values[b] === null) return null;
  const width = times[b] - times[a];
  return width > 0 ? values[a] + ((values[b] - values[a]) * (t - times[a])) / width : values[b];
}

// The visible part of every chart.
const clip = make("clipPath", { id: "plot" }, make("svg", { width: 0, height: 0, style: "position: absolute" }, document.body));
make("rect", { x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM }, clip);

// A strip above the data with the names of the phases, shortened to the visible part of each.
function nameOfPhases(svg, x, [t0, tf]) {
  data.phases.forEach(([name, start, end], k) => {
    const left = x(Math.max(start, t0)), width = x(Math.min(end, tf)) - left, letters = Math.floor(width / LETTER);
    if (!(width > 0)) return;
    const cell = make("g", { class: "phase" }, svg);
    make("title", {}, cell, name);
    make("rect", { x: left, y: TOP - STRIP, width, height: STRIP, fill: k % 2 ? "#e2e2e2" : "#f2f2f2" }, cell);
    const text = name.length <= letters ? name : letters > 2 ? name.slice(0, letters - 1) + "…" : "";
    if (text) make("text", { x: left + width / 2, y: TOP - 4, "text-anchor": "middle" }, cell, text);
  });
}

function paint(svg, panel) {
  const [t0, tf] = view, [low, high] = range(panel);
  const x = (t) => LEFT + ((t - t0) / (tf - t0 || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (v) => HEIGHT - BOTTOM - ((v - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  svg.replaceChildren();
  for (const v of ticks(low, high, 4)) {
    make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v), stroke: "#e6e6e6" }, svg);
    make("text", { x: LEFT - 5, y: y(v) + 3, "text-anchor": "end" }, svg, written(v));
  }
  for (const t of ticks(t0, tf, 6)) {
    make("line", { x1: x(t), x2: x(t), y1: TOP, y2: HEIGHT - BOTTOM, stroke: "#e6e6e6" }, svg);
    make("text", { x: x(t), y: HEIGHT - 8, "text-anchor": "middle" }, svg, written(t));
  }
  if (SEVERAL) nameOfPhases(svg, x, view);
  const inside = make("g", { "clip-path": "url(#plot)" }, svg);
  for (const [start, end, role] of panel.arcs) {
    make("rect", { x: x(start), y: TOP, width: Math.max(0, x(end) - x(start)), height: HEIGHT - TOP - BOTTOM, fill: SHADES[role], opacity: 0.22 }, inside);
  }
  for (const level of panel.bounds) if (level >= low && level <= high) {
    make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level), stroke: "#333", "stroke-dasharray": "5 3" }, inside);
  }
  panel.lines.forEach((line, k) => {
    for (const [times, values] of line.segments) {
      const d = pathThrough(times.map((t, i) => [x(t), values[i] === null ? NaN : y(values[i])]));
      make("path", { d, fill: "none", stroke: COLOURS[k % 6], "stroke-width": 1.7, "stroke-dasharray": DASHES[k % 4] }, inside);
    }
  });
  for (const [, start] of data.phases.slice(1)) make("line", { x1: x(start), x2: x(start), y1: TOP, y2: HEIGHT - BOTTOM, stroke: "#333333", "stroke-width": 0.8 }, inside);
  for (const t of data.mesh) make("line", { x1: x(t), x2: x(t), y1: HEIGHT - BOTTOM - 4, y2: HEIGHT - BOTTOM, stroke: "#009E73", "stroke-width": 0.8 }, inside);
  const cursor = make("line", { y1: TOP, y2: HEIGHT - BOTTOM, stroke: "#0072B2", "stroke-width": 1, visibility: "hidden", class: "cursor" }, inside);
  return [x, cursor];
}

function chart(panel, holder) {
  const figure = document.createElement("figure");
  figure.className = "panel";
  const caption = document.createElement("figcaption"), name = document.createElement("span"), readout = document.createElement("output");
  name.textContent = panel.title + (panel.unit ? ` [${panel.unit}]` : "");
  const whole = name.textContent;
  if (panel.distant) name.textContent += `  limits: ${panel.distant}`;
  caption.append(name, readout);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": whole });
  let [x, cursor] = paint(svg, panel), pressed = null;
  redraws.push(() => { [x, cursor] = paint(svg, panel); });
  const timeAt = (event) => {
    const box = svg.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * WIDTH;
    return Math.min(view[1], Math.max(view[0], view[0] + ((at - LEFT) / (WIDTH - LEFT - RIGHT)) * (view[1] - view[0])));
  };
  svg.addEventListener("pointermove", (event) => point(timeAt(event)));
  svg.addEventListener("pointerdown", (event) => { pressed = timeAt(event); });
  svg.addEventListener("pointerup", (event) => {
    const released = timeAt(event), from = pressed;
    pressed = null;
    if (from !== null && Math.abs(released - from) > 0.02 * (view[1] - view[0])) look(Math.min(from, released), Math.max(from, released));
  });
  svg.addEventListener("dblclick", () => look(...data.span));
  figure.append(caption, svg);
  holder.appendChild(figure);
  charts.push((t) => {
    cursor.setAttribute("x1", x(t));
    cursor.setAttribute("x2", x(t));
    cursor.setAttribute("visibility", "visible");
    const values = panel.lines.map((line) => {
      const found = line.segments.map((segment) => valueAt(segment, t)).filter((v) => v !== null);
      return found.length ? written(found[found.length - 1]) : "–";
    });
    readout.textContent = `t ${written(t, 4)}  ${values.join("  ")}`;
  });
}

for (const panel of data.panels) chart(panel, document.querySelector(`.panels[data-kind="${panel.kind}"]`));

// The film -------------------------------------------------------------------------------------------------------------------

let showFrame = null;

function point(t) {
  for (const move of charts) move(t);
  if (showFrame) showFrame(t);
}

function film(scene) {
  const svg = document.getElementById("film"), slider = document.getElementById("slider");
  const button = document.getElementById("play"), clock = document.getElementById("clock");
  const space = scene.dimension === 3, window_ = scene.window;
  let [azimuth, elevation] = scene.view.map((degrees) => (degrees * Math.PI) / 180);
  // In the pixels of a wide screen, so that line widths are the same in flat and in tall windows.
  const scale = Math.min(1100 / (window_[1] - window_[0]), 448 / (window_[3] - window_[2]));
  const width = scale * (window_[1] - window_[0]), height = scale * (window_[3] - window_[2]);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);

  function flat(p) {
    if (!space) return p;
    const [sa, ca, se, ce] = [Math.sin(azimuth), Math.cos(azimuth), Math.sin(elevation), Math.cos(elevation)];
    return [-sa * p[0] + ca * p[1], -se * ca * p[0] - se * sa * p[1] + ce * p[2]];
  }

  const nodes = scene.strokes.map((stroke) => {
    const colour = stroke.role === "ground" ? "#999" : COLOURS[stroke.colour % 6];
    if (stroke.role === "mark") return make("circle", { r: stroke.width * 0.65, fill: colour, stroke: "#fff", "stroke-width": 1.2 }, svg);
    const style = { fill: "none", stroke: colour, "stroke-width": stroke.width * 1.25, "stroke-linecap": "round", "stroke-linejoin": "round" };
    return make("path", { ...style, class: stroke.role }, svg);
  });
  let frame = 0;

  function arrow([tail, tip]) {  // nothing if it is too short
    const [dx, dy] = [tip[0] - tail[0], tip[1] - tail[1]], length = Math.hypot(dx, dy), size = 14;
    if (!(length > 0.15 * size)) return "";
    const back = Math.min(size, 0.6 * length) / length, [c, s] = [Math.cos(0.42), Math.sin(0.42)];
    const side = (sign) => [tip[0] - back * (dx * c - sign * dy * s), tip[1] - back * (sign * dx * s + dy * c)];
    return pathThrough([tail, tip, side(1), tip, side(-1)]);
  }

  function draw() {
    const about = scene.middle ? flat(scene.middle[frame]) : [0, 0];
    const centre = scene.centre ? flat(scene.centre) : [0, 0];  // in space the picture turns about the middle of the motion
    const left = window_[0] + about[0] + centre[0], top = window_[3] + about[1] + centre[1];
    const place = (p) => { if (p[0] === null) return [NaN, NaN]; const [u, v] = flat(p); return [(u - left) * scale, (top - v) * scale]; };
    scene.strokes.forEach((stroke, k) => {
      let points = stroke.role === "ground" ? stroke.points[0] : stroke.points[frame];
      if (stroke.role === "arrow") { nodes[k].setAttribute("d", arrow(points.map(place))); return; }
      if (stroke.role === "trail") points = stroke.points.slice(0, frame * scene.finer + 1).map((p) => p[0]);
      const placed = points.map(place);
      if (stroke.role !== "mark") { nodes[k].setAttribute("d", pathThrough(placed)); return; }
      const seen = Number.isFinite(placed[0][0]);
      nodes[k].setAttribute("visibility", seen ? "visible" : "hidden");
      if (seen) { nodes[k].setAttribute("cx", placed[0][0].toFixed(2)); nodes[k].setAttribute("cy", placed[0][1].toFixed(2)); }
    });
    slider.value = frame;
    clock.textContent = `t = ${written(scene.t[frame], 4)} ${scene.unit}`;
  }

  function nearest(t) {
    let best = 0;
    scene.t.forEach((time, k) => { if (Math.abs(time - t) < Math.abs(scene.t[best] - t)) best = k; });
    return best;
  }
  showFrame = (t) => { frame = nearest(t); draw(); };

  const last = scene.t.length - 1;
  slider.max = last;
  let started = null;
  function stop() { started = null; button.textContent = "Play"; }
  function step(now) {
    if (started === null) return;
    frame = Math.min(last, Math.round(((now - started) / 1000 / scene.seconds) * last));
    for (const move of charts) move(scene.t[frame]);
    draw();
    if (frame >= last) stop(); else requestAnimationFrame(step);
  }
  button.addEventListener("click", () => {
    if (started !== null) { stop(); return; }
    if (frame >= last) frame = 0;
    started = performance.now() - (frame / last) * scene.seconds * 1000;
    button.textContent = "Pause";
    requestAnimationFrame(step);
  });
  slider.addEventListener("input", () => {
    stop();
    frame = Number(slider.value);
    for (const move of charts) move(scene.t[frame]);
    draw();
  });
  if (space) {
    svg.style.cursor = "grab";
    svg.addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) return;
      azimuth -= event.movementX * 0.01;
      elevation = Math.max(-1.57, Math.min(1.57, elevation + event.movementY * 0.01));
      draw();
    });
  }
  draw();
}

if (data.scene) film(data.scene);
