"use strict";
const picture = document.getElementById("picture");
const find = document.getElementById("find");
const entries = Array.from(document.querySelectorAll("#list details"));
const boxes = Array.from(picture.querySelectorAll("[data-node]"));
const arrows = Array.from(picture.querySelectorAll("[data-from]"));
let picked = null;

// Everything but a box, its arrows and what is at their other ends fades.
function pick(node) {
  picked = node === picked ? null : node;
  const near = new Set([picked]);
  for (const a of arrows) {
    const on = a.dataset.from === picked ? true : a.dataset.to === picked;
    a.classList.toggle("on", on);
    if (on) { near.add(a.dataset.from); near.add(a.dataset.to); }
  }
  for (const b of boxes) {
    b.classList.toggle("on", near.has(b.dataset.node));
    b.classList.toggle("picked", b.dataset.node === picked);
    b.setAttribute("aria-pressed", b.dataset.node === picked);
  }
  document.body.classList.toggle("choosing", picked !== null);
  for (const e of entries) {
    e.open = e.dataset.about === picked;
    if (e.open) { e.hidden = false; e.scrollIntoView({block: "nearest"}); }
  }
}

function search() {
  const word = find.value.trim().toLowerCase();
  for (const e of entries) {
    e.hidden = !e.querySelector("summary").textContent.toLowerCase().includes(word);
    const box = boxes[Number(e.dataset.about)];
    box.classList.toggle("missed", e.hidden);
  }
}

for (const b of boxes) {
  b.addEventListener("click", () => pick(b.dataset.node));
  b.addEventListener("keydown", (event) => {
    if (["Enter", " "].includes(event.key)) { event.preventDefault(); pick(b.dataset.node); }
  });
}
for (const g of document.querySelectorAll("[data-go]")) {
  g.addEventListener("click", () => {
    picked = null;
    pick(g.dataset.go);
    boxes[Number(g.dataset.go)].scrollIntoView({block: "center", inline: "center"});
  });
}
for (const e of entries) {
  e.querySelector("summary").addEventListener("click", (event) => { event.preventDefault(); pick(e.dataset.about); });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { find.value = ""; search(); picked = null; pick(null); }
});
find.addEventListener("input", search);
