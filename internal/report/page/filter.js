// Selects the items to show.
import { data, ladder } from "./data.js";

/** A test of items, or null if all are shown. */
export function wanted(at) {
  const words = at.q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && !at.kind && !at.rung && !at.of && !at.only) return null;
  return (item) =>
    (!at.kind || item.kind === at.kind) && (!at.rung || item.rung === at.rung) && (!at.only || item.findings.length > 0) && words.every((word) => item.words.includes(word));
}

/** The items of a ladder that are shown, and the objects below them. */
export function shown(of, at) {
  const test = wanted(at);
  if (!test) return null;
  const items = new Set();
  const inside = new Map();
  for (const item of of.items) {
    if (!data.fleet || of.name !== "") {
      if (test(item)) items.add(item);
      continue;
    }
    if (at.of && item.name !== at.of) continue;
    const objects = item.inside ? ladder(item.name).items.filter(test) : [];
    if (objects.length > 0) inside.set(item, objects);
    if (objects.length > 0 || (!at.kind && test(item))) items.add(item);
  }
  return { items, inside };
}

/** All kinds and rungs that there are in a ladder. */
export function choices(of) {
  const ladders = data.fleet && of.name === "" ? of.items.filter((item) => item.inside).map((item) => ladder(item.name)) : [of];
  const kinds = new Set();
  const rungs = new Set(of.items.map((item) => item.rung));
  for (const one of ladders) {
    for (const item of one.items) {
      kinds.add(item.kind);
      rungs.add(item.rung);
    }
  }
  rungs.delete("");
  const inOrder = (set) => [...set].sort((a, b) => a.localeCompare(b, "en"));
  return { kinds: inOrder(kinds), rungs: inOrder(rungs), components: data.fleet && of.name === "" ? inOrder(new Set(of.items.map((item) => item.name))) : [] };
}
