// SPDX-License-Identifier: Apache-2.0
// Moves the merge graph through time: slider, play button. The drawing in the file is the last frame.
(() => {
  "use strict";
  const figure = document.getElementById("graph");
  const source = document.getElementById("graph-data");
  if (!figure || !source) return;
  const data = JSON.parse(source.textContent);
  const drawing = figure.querySelector("svg.graph");
  const edges = new Map([...drawing.querySelectorAll(".edge[data-e]")].map((edge) => [edge.dataset.e, edge]));
  const nodes = [...drawing.querySelectorAll(".node")];
  const now = (name) => drawing.querySelector(`[data-now="${name}"]`);
  const steps = 400, play_ms = 12000, fresh_share = 0.03;
  const key_of = (a, b) => Math.min(a, b) + "-" + Math.max(a, b);
  const most = Math.max(1, Number(drawing.querySelector(".edges").dataset.most));
  const thickest = Number(drawing.querySelector(".edges").dataset.thickest);
  const total_text = now("merges").textContent, end_text = now("time").textContent;
  let focused = null;

  const time_text = (s) => {
    if (data.end >= 120) return Math.floor(s / 60) + " min " + String(Math.floor(s % 60)).padStart(2, "0") + " s";
    return data.end >= 1 ? s.toFixed(2) + " s" : (s * 1000).toFixed(0) + " ms";
  };
  const colour_of = (accuracy) => {
    let colour = 0;
    while (colour < data.thresholds.length && accuracy >= data.thresholds[colour]) ++colour;
    return "acc" + colour;
  };

  const draw_edges = (t) => {
    const counts = new Map(), fresh = new Set();
    let merges = 0;
    for (const [at, from, to] of data.merges) {
      if (at > t) break;
      const key = key_of(from, to);
      counts.set(key, (counts.get(key) || 0) + data.stride);
      merges += data.stride;
      if (t < data.end && at > t - data.end * fresh_share) fresh.add(key);
    }
    for (const [key, edge] of edges) {
      const count = counts.get(key) || 0;
      const ends = key.split("-");
      edge.classList.toggle("off", count === 0);
      edge.classList.toggle("fresh", fresh.has(key));
      edge.classList.toggle("dim", focused !== null && !ends.includes(focused));
      edge.setAttribute("stroke-width", (0.6 + (thickest - 0.6) * Math.sqrt(Math.min(1, count / most))).toFixed(1));
    }
    now("merges").textContent = t >= data.end ? total_text
      : (data.stride > 1 ? "about " : "") + merges.toLocaleString("en") + " merges so far";
  };
  const draw_nodes = (t) => {
    const accuracy = new Map();
    for (const [at, peer, value] of data.evaluations) {
      if (at > t) break;
      accuracy.set(peer, value);
    }
    let alive = 0;
    nodes.forEach((node, peer) => {
      const lives = data.lives.some(([who, begin, end]) => who === peer && begin <= t && t <= end);
      alive += lives;
      const dot = node.querySelector(".dot");
      const known = accuracy.has(peer);
      dot.setAttribute("class", "dot " + (!lives ? "dead" : known ? colour_of(accuracy.get(peer)) : "acc-none"));
      const name = node.querySelector("text");
      name.classList.toggle("dead", !lives);
      const label = name.textContent + (lives ? "" : ", dead") +
        (known ? ", accuracy " + (accuracy.get(peer) * 100).toFixed(2) + " %" : "");
      node.setAttribute("aria-label", label);
      dot.setAttribute("aria-label", label);
    });
    now("alive").textContent = alive + " of " + nodes.length + " peers alive";
  };

  const player = document.createElement("div");
  player.className = "player";
  const play = document.createElement("button");
  play.type = "button";
  const slider = document.createElement("input");
  slider.type = "range";
  slider.max = String(steps);
  slider.value = String(steps);
  slider.setAttribute("aria-label", "Time of the merge graph");
  const shown = document.createElement("output");
  player.append(play, slider, shown);
  figure.querySelector(".scroll").before(player);

  const draw = () => {
    const t = data.end * Number(slider.value) / steps;
    draw_edges(t);
    draw_nodes(t);
    shown.textContent = time_text(t);
    slider.setAttribute("aria-valuetext", time_text(t));
    now("time").textContent = t >= data.end ? end_text : "at " + time_text(t);
  };
  let playing = false, started = 0;
  const say = () => { play.textContent = playing ? "Pause" : "Play"; };
  const tick = (ms) => {
    if (!playing) return;
    if (!started) started = ms - play_ms * Number(slider.value) / steps;
    const share = Math.min(1, (ms - started) / play_ms);
    slider.value = String(Math.round(share * steps));
    draw();
    if (share >= 1) playing = false;
    say();
    if (playing) requestAnimationFrame(tick);
  };
  play.addEventListener("click", () => {
    playing = !playing;
    started = 0;
    if (playing && Number(slider.value) >= steps) slider.value = "0";
    say();
    if (playing) requestAnimationFrame(tick);
  });
  slider.addEventListener("input", () => { playing = false; say(); draw(); });
  for (const node of nodes) {
    const focus = (who) => () => { focused = who; draw(); };
    node.addEventListener("focus", focus(node.dataset.p));
    node.addEventListener("blur", focus(null));
    node.addEventListener("pointerenter", focus(node.dataset.p));
    node.addEventListener("pointerleave", focus(null));
  }
  // Paper gets the last frame.
  window.addEventListener("beforeprint", () => { playing = false; slider.value = String(steps); say(); draw(); });
  say();
  draw();
})();
