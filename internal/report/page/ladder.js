// The ladder: bands from top to bottom, with their items.
import { badges, breakable, counted, h, hourglass, unseen } from "./dom.js";
import { drawArrows } from "./arrows.js";
import { manyItems } from "./details.js";
import { go } from "./place.js";

/** Widths in pixels: of the rails, between two columns, and of a column at least. */
const gutter = 84;
const gap = 24;
const narrowest = { object: 228, component: 260 };

/** How many items a block has: what is not on the screen is laid out block by block. */
const blockSize = 48;

/** A ladder on the page: the element, and the link of each item in it. */
export function ladderView(of) {
  const view = { of, cards: [], rows: [], bands: [], counts: [], blocks: [], focused: null, chosen: null, shown: () => true };
  view.arrows = h("div", { class: "arrows", "aria-hidden": "true" });
  view.element = h("div", { class: `ladder of-${of.noun}s${of.items.length > manyItems ? " compact" : ""}` }, view.arrows, of.bands.map((band, k) => bandElement(view, band, k)));
  view.element.addEventListener("keydown", (event) => steer(view, event));
  view.element.addEventListener("focusin", (event) => point(view, cardOf(view, event.target)));
  view.element.addEventListener("focusout", () => point(view, null));
  view.element.addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(view, cardOf(view, event.target)));
  view.element.addEventListener("pointerleave", () => point(view, null));
  new ResizeObserver(() => {
    fit(view);
    drawArrows(view);
  }).observe(view.element);
  rove(view, 0);
  return view;
}

/** Sets the number of columns. The page does so before it scrolls to an item, too. */
export function fit(view) {
  const columns = Math.max(1, Math.floor((view.element.clientWidth - gutter + gap) / (narrowest[view.of.noun] + gap)));
  view.element.style.setProperty("--columns", columns);
}

function bandElement(view, band, k) {
  const count = h("span", { class: "count" });
  view.counts.push(count);
  const element = h("section", { class: "band", "aria-labelledby": `band-${k}` },
    h("p", { class: "rung", "aria-hidden": "true" }, h("span", null, band.mark)),
    h("div", { class: "on-rung" },
      h("div", { class: "band-head" },
        h("h3", { id: `band-${k}` }, band.title, band.about && h("span", { class: "about" }, ` ${band.about}`)),
        count, band.when && h("span", { class: "when" }, unseen("simulated: "), band.when)),
      band.why.length > 0 && h("ul", { class: "why", "aria-label": "Why this wave" }, band.why.map((why) => h("li", null, why))),
      blocks(view, band),
      band.gate && gate(view, band)));
  view.bands.push(element);
  return element;
}

/** The items of a band in blocks, of which a browser skips those that nobody sees. */
function blocks(view, band) {
  const all = [];
  for (let at = 0; at < band.items.length; at += blockSize) {
    const items = band.items.slice(at, at + blockSize);
    const element = h("ul", { class: "cards", role: "list" }, items.map((item) => card(view, item)));
    element.style.setProperty("--items", items.length);
    view.blocks.push({ element, items });
    all.push(element);
  }
  return h("div", { class: "blocks" }, all);
}

function card(view, item) {
  const waited = view.of.awaited.has(item.index);
  const long = item.name.length > (item.component ? 32 : 27);
  const link = h("a", { class: `card${item.off ? " off" : ""}${long ? " long" : ""}`, href: item.href, tabindex: "-1", "data-item": item.index, "data-rung": item.rung },
    h("span", { class: "kind", "data-icon": item.icon }, item.kind, " ", h("span", { class: "signs" }, waited && hourglass(), badges(item.findings))),
    h("span", { class: "name" }, long ? breakable(item.name) : item.name, " "),
    h("span", { class: "note" }, unseen("; "), item.off ? "not deployed" : item.why),
    unseen(`${item.namespace ? `; in namespace ${item.namespace}` : ""}${waited ? "; others wait until it is healthy" : ""}`));
  const row = h("li", null, link);
  view.cards[item.index] = link;
  view.rows[item.index] = row;
  return row;
}

function gate(view, band) {
  const summary = [band.awaited && hourglass(), band.gate];
  if (band.held.length === 0) return h("p", { class: "gate" }, summary);
  return h("details", { class: band.awaited ? "gate awaited" : "gate" }, h("summary", null, summary),
    h("ul", null, band.held.map((held) => {
      const item = view.of.items[held.item];
      return h("li", null, h("span", { class: "mark" }, held.mark), " ", h("a", { href: item.href }, `${item.kind} ${item.name}`), ` ${held.why}`);
    })));
}

const cardOf = (view, target) => {
  const link = target.closest?.("[data-item]");
  return link ? view.of.items[Number(link.dataset.item)] : null;
};

/** Shows what an item refers to for as long as it is pointed at. */
function point(view, item) {
  if (view.focused === item) return;
  view.focused = item;
  cancelAnimationFrame(view.frame);
  view.frame = requestAnimationFrame(() => drawArrows(view));
}

/** Makes an item the one that the Tab key leads to. */
export function rove(view, index) {
  const before = view.cards[view.stop];
  if (before) before.tabIndex = -1;
  view.stop = index;
  if (view.cards[index]) view.cards[index].tabIndex = 0;
}

/** Puts the focus on an item. */
export function focusItem(view, index) {
  rove(view, index);
  view.cards[index].focus();
}

/** Moves the focus with the arrow keys. */
function steer(view, event) {
  const item = cardOf(view, event.target);
  if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
  const next = step(view, item, event.key);
  if (next === undefined) return;
  event.preventDefault();
  focusItem(view, next);
}

function step(view, item, key) {
  const order = view.of.bands.flatMap((band) => band.items).filter(view.shown).map((i) => i.index);
  const at = order.indexOf(item.index);
  switch (key) {
    case "ArrowRight": return order[at + 1];
    case "ArrowLeft": return order[at - 1];
    case "Home": return order[0];
    case "End": return order[order.length - 1];
    case "ArrowDown": return nearest(view, order.slice(at + 1), item, 1);
    case "ArrowUp": return nearest(view, order.slice(0, Math.max(at, 0)).reverse(), item, -1);
  }
  return undefined;
}

/** The item of the next line that stands nearest below or above. */
function nearest(view, candidates, item, direction) {
  const from = view.cards[item.index].getBoundingClientRect();
  let line = null;
  let best;
  let distance = Infinity;
  for (const index of candidates) {
    const box = view.cards[index].getBoundingClientRect();
    if ((box.top - from.top) * direction < 2) continue;
    line ??= box.top;
    if (Math.abs(box.top - line) > 2) break;
    if (Math.abs(box.left - from.left) < distance) {
      distance = Math.abs(box.left - from.left);
      best = index;
    }
  }
  return best;
}

/** Marks the item that the reader chose, null for none. */
export function choose(view, item) {
  view.cards[view.chosen?.index]?.removeAttribute("aria-current");
  view.chosen = item;
  view.element.classList.toggle("choosing", item !== null);
  if (item) {
    view.cards[item.index].setAttribute("aria-current", "true");
    rove(view, item.index);
  }
  drawArrows(view);
}

/** Shows some items only; null shows all. */
export function showOnly(view, shown) {
  const isShown = (item) => !shown || shown.items.has(item);
  for (const { element, items } of view.blocks) {
    const count = items.filter(isShown).length;
    element.hidden = count === 0;
    element.style.setProperty("--items", count);
    // Rows of a hidden block need no update.
    if (count > 0) for (const item of items) view.rows[item.index].hidden = !isShown(item);
  }
  view.shown = isShown;
  view.of.bands.forEach((band, k) => {
    const count = band.items.filter(isShown).length;
    view.bands[k].hidden = count === 0 && shown !== null;
    view.counts[k].textContent = shown ? `${count} of ${counted(band.items.length, view.of.noun)}` : counted(band.items.length, view.of.noun);
  });
  const first = view.of.bands.flatMap((band) => band.items).find(isShown);
  if (first && !isShown(view.of.items[view.stop])) rove(view, first.index);
  drawArrows(view);
}

/** Leaves the item that is chosen. */
export const leave = () => go({ object: "" });
