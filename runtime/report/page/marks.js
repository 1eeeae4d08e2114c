// SPDX-License-Identifier: Apache-2.0
// What a mark stands for, shown beside it: under the pointer, or by keyboard. A lane of the timeline,
// or a drawing without lanes, takes the focus; left and right go through its marks in order.
(() => {
  "use strict";
  const tip = document.getElementById("tip");
  let current = null;

  // The tip takes the place of the browser's own, which cannot be reached by keyboard.
  for (const mark of document.querySelectorAll("[data-m], .edge, .node .dot, .mean")) {
    const title = mark.querySelector("title");
    if (!title) continue;
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
  }

  const place = (x, y) => {
    const box = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 12, window.innerWidth - box.width - 8));
    const below = y + 16 + box.height < window.innerHeight;
    tip.style.left = left + "px";
    tip.style.top = Math.max(8, below ? y + 16 : y - box.height - 10) + "px";
  };
  const show = (text, x, y) => {
    const [first, line] = text.split("\n");
    tip.textContent = first;
    if (line) {
      const code = document.createElement("code");
      code.textContent = line;
      tip.append(code);
    }
    tip.hidden = false;
    place(x, y);
  };
  const hide = () => {
    tip.hidden = true;
    if (current) current.classList.remove("current");
    current = null;
  };

  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest && event.target.closest("svg [aria-label]:not(svg, g.lane)");
    if (mark) {
      show(mark.getAttribute("aria-label"), event.clientX, event.clientY);
    } else if (!current) {
      tip.hidden = true;
    }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  const go_to = (mark) => {
    hide();
    current = mark;
    mark.classList.add("current");
    const box = mark.getBoundingClientRect();
    show(mark.getAttribute("aria-label") || "", box.left + box.width / 2, box.bottom);
  };
  const by_place = (a, b) => a.getBoundingClientRect().right - b.getBoundingClientRect().right;
  const walk = (stop, marks_of, up_and_down) => {
    stop.addEventListener("blur", hide);
    stop.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (step) {
        const marks = marks_of();
        if (marks.length === 0) return;
        event.preventDefault();
        const at = marks.indexOf(current);
        go_to(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
      } else if (up_and_down && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        const other = event.key === "ArrowDown" ? stop.nextElementSibling : stop.previousElementSibling;
        if (!other || !other.classList.contains("lane")) return;
        event.preventDefault();
        other.focus();
      }
    });
  };

  for (const drawing of document.querySelectorAll("svg.drawing")) {
    const lanes = drawing.querySelectorAll(".lane");
    if (lanes.length === 0) {
      if (!drawing.querySelector("[data-m]")) continue;
      drawing.setAttribute("tabindex", "0");
      walk(drawing, () => [...drawing.querySelectorAll("[data-m]")], false);
      continue;
    }
    for (const lane of lanes) {
      const marks = () => [
        ...lane.querySelectorAll("[data-m]"),
        ...drawing.querySelectorAll(`.arcs [data-p="${lane.dataset.p}"], .ends [data-p="${lane.dataset.p}"]`),
      ].sort(by_place);
      walk(lane, marks, true);
      const light = (on) => {
        for (const arc of drawing.querySelectorAll(
          `.arc[data-p="${lane.dataset.p}"], .arc[data-q="${lane.dataset.p}"]`)) {
          arc.classList.toggle("lit", on);
        }
      };
      lane.addEventListener("focus", () => light(true));
      lane.addEventListener("blur", () => light(false));
      lane.addEventListener("pointerenter", () => light(true));
      lane.addEventListener("pointerleave", () => { if (document.activeElement !== lane) light(false); });
    }
  }
})();
