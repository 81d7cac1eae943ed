// Arrows between the items of a ladder: those of the item under the pointer, or
// else of the selected one. Each leads to a dependency.
import { s } from "./dom.js";

/** As many arrows as a reader can tell apart; the details list all. */
const mostArrows = 150;

export function drawArrows(view) {
  const item = view.focused ?? view.chosen;
  for (const card of view.near ?? []) card.classList.remove("near");
  view.near = [];
  view.arrows.replaceChildren();
  if (!item || !view.shown(item)) return;
  const ends = [...view.of.needs[item.index], ...view.of.neededBy[item.index]].filter((edge) => {
    const other = edge.from === item.index ? edge.to : edge.from;
    return view.shown(view.of.items[other]) && (!edge.quiet || edge.gate);
  });
  const edges = strongest(ends).slice(0, mostArrows);
  if (edges.length === 0) return;
  const frame = view.element.getBoundingClientRect();
  const boxes = new Map();
  const box = (index) => {
    if (!boxes.has(index)) boxes.set(index, view.cards[index].getBoundingClientRect());
    return boxes.get(index);
  };
  const start = (edge) => (view.of.items[edge.from].band === view.of.items[edge.to].band ? null : view.cards[edge.from].closest(".blocks").getBoundingClientRect().left);
  const paths = edges.map((edge, lane) => path(edge, route(box(edge.from), box(edge.to), start(edge), frame, lane), edge.from === item.index)).reverse();
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
  return s("marker", { id, viewBox: "0 0 10 10", refX: "9", refY: "5", markerWidth: "8", markerHeight: "8", markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, s("path", { d: "M1 1 9 5 1 9z" }));
}

function path(edge, d, isNeed) {
  const look = edge.against ? "against" : edge.gate && !edge.blind ? "gate" : isNeed ? "" : "back";
  const classes = ["arrow", look, edge.inferred ? "inferred" : "", edge.loose ? "loose" : "", isNeed ? "needs" : "needed"];
  return s("path", { class: classes.filter(Boolean).join(" "), d, "marker-end": `url(#${look ? `head-${look}` : "head"})` });
}

/**
 * A line from the left of one box to the left of another, through the channels
 * between the columns and rows, so that it crosses no item. From band to band it
 * goes beside the first column, since captions stand across the others. Lines
 * side by side keep a little apart.
 */
function route(from, to, start, frame, lane) {
  const [channel, width] = frame.width < 500 ? [7, 1.6] : [12, 3.6];
  const apart = ((lane % 5) - 2) * width;
  const left = (box) => box.left - frame.left;
  const y1 = from.top - frame.top + from.height / 2 + apart * 1.5;
  const y2 = to.top - frame.top + to.height / 2 + apart * 1.5;
  const x1 = left(from) - channel + apart;
  const x2 = left(to) - channel + apart;
  const beside = (box, other) => (other.top > box.top ? box.bottom + 4 : box.top - 4) - frame.top + apart / 2;
  const points = [[left(from), y1], [x1, y1]];
  if (start !== null) {
    const x = start - frame.left - channel + apart;
    if (Math.abs(x1 - x) > 1) points.push([x1, beside(from, to)], [x, beside(from, to)]);
    if (Math.abs(x2 - x) > 1) points.push([x, beside(to, from)], [x2, beside(to, from)]);
  } else if (Math.abs(x1 - x2) > 1) {
    points.push([x1, beside(from, to)], [x2, beside(from, to)]);
  }
  points.push([x2, y2], [left(to), y2]);
  return rounded(points, 5);
}

/** A line through points with round corners. */
function rounded(points, radius) {
  const toward = ([x, y], [u, v]) => {
    const length = Math.hypot(u - x, v - y) || 1;
    const part = Math.min(radius, length / 2) / length;
    return `${(x + (u - x) * part).toFixed(1)} ${(y + (v - y) * part).toFixed(1)}`;
  };
  const corners = points.slice(1, -1).map((point, i) => `L${toward(point, points[i])} Q${point[0].toFixed(1)} ${point[1].toFixed(1)} ${toward(point, points[i + 2])}`);
  return `M${points[0].join(" ")} ${corners.join(" ")} L${points.at(-1).join(" ")}`;
}
