// SPDX-License-Identifier: Apache-2.0
// Turns the panels of a figure into tabs: arrow keys, Home and End move between them. Without this
// script all panels are shown one below the other.
(() => {
  "use strict";
  for (const tabs of document.querySelectorAll(".tabs")) {
    const panels = [...tabs.querySelectorAll(".panel")];
    const list = document.createElement("div");
    list.className = "tablist";
    list.setAttribute("role", "tablist");
    const buttons = panels.map((panel, i) => {
      const button = document.createElement("button");
      const figure = tabs.closest("figure").id;
      button.type = "button";
      button.id = figure + "-tab-" + i;
      button.textContent = panel.dataset.tab;
      button.setAttribute("role", "tab");
      panel.id = figure + "-panel-" + i;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", button.id);
      button.setAttribute("aria-controls", panel.id);
      list.append(button);
      return button;
    });
    const choose = (chosen) => {
      panels.forEach((panel, i) => {
        panel.hidden = i !== chosen;
        buttons[i].setAttribute("aria-selected", String(i === chosen));
        buttons[i].tabIndex = i === chosen ? 0 : -1;
      });
    };
    buttons.forEach((button, i) => {
      button.addEventListener("click", () => choose(i));
      button.addEventListener("keydown", (event) => {
        const last = buttons.length - 1;
        const next = {ArrowRight: i === last ? 0 : i + 1, ArrowLeft: i === 0 ? last : i - 1, Home: 0, End: last}[event.key];
        if (next === undefined) return;
        event.preventDefault();
        choose(next);
        buttons[next].focus();
      });
    });
    tabs.prepend(list);
    tabs.classList.add("live");
    choose(0);
  }
})();
