// Elements. Texts are always set as text nodes, so that names cannot contain markup.

/**
 * Makes an element. Handlers are properties that begin with "on"; what is null
 * or false is left out.
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...given(children));
  return element;
}

/** What is left of children without those that are null or false. */
const given = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** Puts something else into an element. */
export function fill(element, ...children) {
  element.replaceChildren(...given(children));
}

export function s(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** For those who listen to the page instead of looking at it. */
export const unseen = (text) => h("span", { class: "unseen" }, text);

/** A long name or path, which breaks behind what parts it rather than within a word. */
export const breakable = (text) => text.split(/(?<=[./_:])(?=[^/])/).flatMap((part, i) => (i > 0 ? [h("wbr"), part] : [part]));

/** A path: the name of a file stays whole. */
export const breakablePath = (text) => text.split(/(?<=[/_])/).flatMap((part, i) => (i > 0 ? [h("wbr"), part] : [part]));

export const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

/** A list of which only the beginning is there until somebody asks for the rest. */
export function longList(list, items, most, entry) {
  list.append(...items.slice(0, most).map(entry));
  if (items.length <= most) return list;
  const more = h("li", { class: "more" }, h("button", {
    type: "button",
    onclick: () => {
      const rest = items.slice(most).map(entry);
      more.replaceWith(...rest);
      rest[0].querySelector("a, button")?.focus();
    },
  }, `Show ${(items.length - most).toLocaleString("en")} more`));
  list.append(more);
  return list;
}

/** An hourglass: others wait for this. */
export const hourglass = () => s("svg", { class: "hourglass", viewBox: "0 0 12 12", "aria-hidden": "true" },
  s("path", { d: "M3 1.5h6M3 10.5h6M4 1.5v1.8l2 2.7 2-2.7V1.5M4 10.5V8.7L6 6l2 2.7v1.8" }));

const marks = { error: "✕", warning: "▲", note: "●" };

/** A mark for findings: its shape, its colour and words say how grave they are. */
export function badge(severity, count) {
  const words = severity === "error" || severity === "warning" || severity === "note" ? counted(count, severity) : severity;
  return h("span", { class: `badge ${severity}` }, h("span", { "aria-hidden": "true" }, `${marks[severity]} ${count}`), unseen(words));
}

/** The badges of some findings, the gravest first. */
export function badges(findings) {
  return Object.keys(marks).map((severity) => {
    const count = findings.filter((f) => f.severity === severity).length;
    return count > 0 ? badge(severity, count) : null;
  });
}

/** A moment of a rollout, such as 3:05 or 1:02:03. */
export function moment(seconds) {
  const all = Math.round(seconds);
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(all / 3600);
  return hours > 0 ? `${hours}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}` : `${Math.floor(all / 60)}:${two(all % 60)}`;
}
