"use strict";
// Sliders choose a frame; dots recolour by how many records are near them; tips follow the pointer.
for (const figure of document.querySelectorAll(".picture:not([data-ready])")) {
  figure.dataset.ready = ""; // a notebook brings this script with every picture
  const byCount = figure.dataset.byCount ? JSON.parse(figure.dataset.byCount) : null;
  const range = figure.querySelector("input[type=range]");
  let frame = range ? Number(range.value) : 0;
  const of = (what, dot) => {
    const table = byCount[dot.closest("[data-of]").dataset.of][frame][what];
    return table[Math.min(Number(dot.dataset.n), table.length - 1)];
  };
  const show = () => {
    for (const part of figure.querySelectorAll("[data-frame]")) part.classList.toggle("off", Number(part.dataset.frame) !== frame);
    if (!byCount) return;
    for (const dot of figure.querySelectorAll("[data-n]")) dot.setAttribute("class", `dot w${of("levels", dot)}`);
  };
  if (range) {
    const values = JSON.parse(range.dataset.values);
    range.addEventListener("input", () => {
      frame = Number(range.value);
      figure.querySelector("output").value = values[frame];
      range.setAttribute("aria-valuetext", values[frame]);
      show();
    });
  }
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  figure.append(tip);
  figure.addEventListener("pointermove", (event) => {
    const mark = event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    const more = byCount && mark.dataset.n ? of("words", mark) : "";
    tip.textContent = mark.dataset.tip + more;
    const box = figure.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 12, Math.max(0, box.width - tip.offsetWidth - 4));
    tip.style.left = `${x}px`;
    tip.style.top = `${event.clientY - box.top + 14}px`;
  });
  figure.addEventListener("pointerleave", () => { tip.hidden = true; });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
