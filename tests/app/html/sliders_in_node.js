"use strict";
// Run the script of a page on the elements that it needs: node sliders_in_node.js PAGE STOPS
const fs = require("fs");
const [page, stops] = [fs.readFileSync(process.argv[2], "utf8"), JSON.parse(process.argv[3])];
const all = (pattern) => [...page.matchAll(pattern)].map((match) => match[1]);
const element = (key, name) => ({ dataset: { [key]: name }, style: {} });
const named = { figure: [], share: [], regime: [], predicted: [element("predicted", "")] };
for (const key of ["figure", "share", "regime"])
  named[key] = all(new RegExp(`data-${key}="([^"]+)"`, "g")).map((name) => element(key, name));
const slider = (id) => ({
  value: page.match(new RegExp(`id="${id}"[^>]*value="(\\d+)"`))[1],
  nextElementSibling: {},
  addEventListener(event, done) { this[event] = done; },
  setAttribute() {},
});
const byId = {
  batch: slider("batch"),
  seq: slider("seq"),
  predictions: { textContent: page.match(/id="predictions">(.*?)<\/script>/s)[1] },
  others: { hidden: true, querySelectorAll: (what) => named[what.match(/data-(\w+)/)[1]] },
};
new Function("document", page.match(/<script>(.*?)<\/script>/s)[1])({
  getElementById: (id) => byId[id],
});
const shown = stops.map(([batch, seq]) => {
  [byId.batch.value, byId.seq.value] = [String(batch), String(seq)];
  byId.batch.input();
  return {
    batch: byId.batch.nextElementSibling.textContent,
    seq: byId.seq.nextElementSibling.textContent,
    figures: Object.fromEntries(named.figure.map((each) => [each.dataset.figure, each.textContent])),
    regimes: named.regime.filter((each) => !each.hidden).map((each) => each.dataset.regime),
  };
});
console.log(JSON.stringify(shown));
