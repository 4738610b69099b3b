"use strict";
// Show the prediction at the stops of the sliders. It computes nothing: figures are texts.
const section = document.getElementById("others");
const { batches, seqs, columns } = JSON.parse(document.getElementById("predictions").textContent);
const sliders = { batch: document.getElementById("batch"), seq: document.getElementById("seq") };
const stops = { batch: batches, seq: seqs };

function place(name) {
  return sliders[name] ? Number(sliders[name].value) : 0;
}

function show() {
  const row = place("batch") * seqs.length + place("seq");
  for (const [name, slider] of Object.entries(sliders)) {
    if (slider === null) continue;
    const stop = stops[name][place(name)].toLocaleString("en");
    slider.nextElementSibling.textContent = stop;
    slider.setAttribute("aria-valuetext", `${name} ${stop}`);
  }
  for (const each of section.querySelectorAll("[data-figure]"))
    each.textContent = columns[each.dataset.figure][row];
  for (const each of section.querySelectorAll("[data-share]"))
    each.style.width = `${100 * columns[each.dataset.share][row]}%`;
  for (const each of section.querySelectorAll("[data-regime]"))
    each.hidden = each.dataset.regime !== columns.regime[row];
  for (const each of section.querySelectorAll("[data-predicted]"))
    each.hidden = columns.regime[row] === "";
}

for (const slider of Object.values(sliders)) slider?.addEventListener("input", show);
show();
section.hidden = false;
