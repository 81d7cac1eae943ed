// Arrows between the items of a ladder: those of the one that is pointed at, or
// else of the one that is chosen. Each leads to what is needed.
import { s } from "./dom.js";

/** As many arrows as a reader can tell apart; the details list all. */
const mostArrows = 150;

export function drawArrows(view) {
  const item = view.focused ?? view.chosen;
  for (const card of view.near ?? []) card.classList.remove("near");
  view.near = [];
  view.arrows.replaceChildren();
  if (!item || view.rows[item.index].hidden) return;
  const ends = [...view.of.needs[item.index], ...view.of.neededBy[item.index]].filter((edge) => {
    const other = edge.from === item.index ? edge.to : edge.from;
    return !view.rows[other].hidden && (!edge.quiet || edge.gate && view.of.name === "");
  });
  const edges = strongest(ends).slice(0, mostArrows);
  if (edges.length === 0) return;
  const frame = view.element.getBoundingClientRect();
  const boxes = new Map();
  const box = (index) => {
    if (!boxes.has(index)) boxes.set(index, view.cards[index].getBoundingClientRect());
    return boxes.get(index);
  };
  const paths = edges.map((edge) => path(edge, curve(box(edge.from), box(edge.to), frame), edge.from === item.index));
  for (const edge of edges) {
    const card = view.cards[edge.from === item.index ? edge.to : edge.from];
    card.classList.add("near");
    view.near.push(card);
  }
  view.arrows.append(s("svg", { width: frame.width, height: frame.height }, s("defs", {}, head("head"), head("head-gate"), head("head-back"), head("head-against")), ...paths));
}

/** One edge for each pair, the strongest first. */
function strongest(edges) {
  const weight = (e) => (e.against ? 4 : 0) + (e.gate ? 2 : 0) + (e.loose ? 0 : 1);
  const pairs = new Map();
  for (const edge of edges) {
    const key = `${edge.from} ${edge.to}`;
    const known = pairs.get(key);
    if (!known || weight(edge) > weight(known)) pairs.set(key, edge);
  }
  return [...pairs.values()].sort((a, b) => weight(b) - weight(a));
}

function head(id) {
  return s("marker", { id, viewBox: "0 0 10 10", refX: "9", refY: "5", markerWidth: "9", markerHeight: "9", markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, s("path", { d: "M1 1 9 5 1 9z" }));
}

function path(edge, d, isNeed) {
  const look = edge.against ? "against" : edge.gate ? "gate" : isNeed ? "" : "back";
  const classes = ["arrow", look, edge.inferred ? "inferred" : "", edge.loose ? "loose" : "", isNeed ? "needs" : "needed"];
  return s("path", { class: classes.filter(Boolean).join(" "), d, "marker-end": `url(#${look ? `head-${look}` : "head"})` });
}

/** A curve from one box to another, which leaves and enters where they face each other. */
function curve(from, to, frame) {
  const middle = (box) => box.left - frame.left + box.width / 2;
  const x1 = middle(from);
  const x2 = middle(to);
  if (Math.abs(from.top - to.top) < 2) {
    const right = x2 > x1;
    const y = from.top - frame.top + from.height / 2;
    if (Math.abs(x2 - x1) < from.width * 1.5) {
      return `M${(right ? from.right : from.left) - frame.left} ${y} L${(right ? to.left : to.right) - frame.left} ${y}`;
    }
    const top = from.top - frame.top;
    return `M${x1} ${top} C${x1} ${top - 34} ${x2} ${top - 34} ${x2} ${top}`;
  }
  const up = to.top < from.top;
  const y1 = (up ? from.top : from.bottom) - frame.top;
  const y2 = (up ? to.bottom : to.top) - frame.top;
  const bend = Math.min(Math.max(Math.abs(y2 - y1) / 2, 18), 160) * (up ? -1 : 1);
  return `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}
