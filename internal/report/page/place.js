// The current view is encoded in the fragment of the URL, so that it can be
// bookmarked and shared.

const names = ["environment", "view", "component", "object", "q", "kind", "rung", "of", "only"];

/** The place that an address names. */
export function place() {
  const parts = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(names.map((name) => [name, parts.get(name) ?? ""]));
}

/** The address of a place, in the same environment unless it names another. */
export function link(to) {
  const parts = new URLSearchParams();
  const there = { environment: place().environment, ...to };
  for (const name of names) if (there[name]) parts.set(name, there[name]);
  return `#${parts}`;
}

/** The address of this place with something else in it. */
export const linkWith = (changes) => link({ ...place(), ...changes });

/** Goes to a place; the reader can come back. */
export function go(changes) {
  location.hash = linkWith(changes);
}

/** Notes a place without a way back, as while somebody types. */
export function note(changes) {
  history.replaceState(null, "", linkWith(changes));
}
