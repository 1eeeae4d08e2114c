// SPDX-License-Identifier: Apache-2.0
// The button that chooses between the system's colours, light and dark.
(() => {
  "use strict";
  const button = document.getElementById("theme");
  const names = ["automatic", "light", "dark"];
  let chosen = 0;
  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = (chosen + 1) % names.length;
    button.textContent = "Theme: " + names[chosen];
    if (chosen === 0) {
      delete document.documentElement.dataset.theme;
    } else {
      document.documentElement.dataset.theme = names[chosen];
    }
  });
})();
