// Combines the views: the URL determines what is shown, and actions of the user
// change the URL.
import { data, enter, environments, ladder, rollout } from "./data.js";
import { finding, hasBanner, sumUp, tell } from "./details.js";
import { badge, byId, counted, h, longList } from "./dom.js";
import { choices, shown } from "./filter.js";
import { choose, fit, focusItem, ladderView, leave, showOnly } from "./ladder.js";
import { go, link, note, place } from "./place.js";
import { hasTimeline, timelineView } from "./timeline.js";

/** What is shown now: the ladder, its view if that is on the page, and where. */
let now = { of: null, view: null, key: "" };

/** The timer of a search that waits for more to be typed. */
let typed = 0;

export function start() {
  addEventListener("hashchange", show);
  addEventListener("keydown", shortcut);
  byId("skip").addEventListener("click", () => byId("main").focus());
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    firstMatch();
  });
  byId("query").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(search, 120);
  });
  byId("query").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      firstMatch();
    }
  });
  byId("filters-toggle").addEventListener("click", () => openFilters(byId("filters").hidden));
  byId("details").addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) {
      event.preventDefault();
      close();
    }
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details.gate").forEach((d) => (d.open = true)));
  startTheme();
  startEnvironments();
  show();
}

/** Shows the place that the address names. */
function show() {
  const at = place();
  enter(at.environment);
  const environment = rollout().environment ?? "";
  const of = ladder(at.component) ?? ladder("");
  const view = at.view === "findings" || (at.view === "timeline" && hasTimeline()) ? at.view : "ladder";
  const key = `${view} ${of.name}`;
  if (key !== now.key || environment !== now.environment) {
    const before = now.key;
    now = { of, view: null, key, name: view, environment };
    page(of, view);
    // Selecting another environment keeps the focus on the selection.
    if (before && before !== key) {
      scrollTo(0, 0);
      byId("main").focus({ preventScroll: true });
    }
  }
  if (byId("query").value !== at.q) byId("query").value = at.q;
  if (byId("environment")) byId("environment").value = environment;
  filters(of, at);
  apply(at);
  const item = of.byId.get(at.object) ?? null;
  const isNew = now.view && now.view.chosen !== item;
  const came = isNew && item && document.activeElement !== now.view.cards[item.index];
  if (isNew) choose(now.view, item);
  if (item) tell(of, item);
  else sumUp(of, view);
  document.body.classList.toggle("has-choice", item !== null);
  // After the details are open: on a phone they cover a part of the screen.
  if (isNew && item) now.view.cards[item.index].scrollIntoView({ block: came ? "center" : "nearest", behavior: "instant" });
  document.title = `${item ? `${item.kind} ${item.name} · ` : ""}${of.title} · Ladder`;
}

/** Builds a view. */
function page(of, view) {
  byId("title").textContent = data.title;
  const views = [["ladder", "Ladder", {}], hasTimeline() && ["timeline", "Timeline", { view: "timeline" }], ["findings", "Findings", { view: "findings" }]];
  const count = ladder("").findings.length;
  byId("views").replaceChildren(...views.filter(Boolean).map(([name, title, to]) => h("li", null,
    h("a", { href: link(to), "aria-current": name === view ? "page" : null }, title, name === "findings" && count > 0 && h("span", { class: "count" }, ` ${count}`)))));
  const main = byId("main");
  const crumbs = of.name !== "" && h("nav", { "aria-label": "Breadcrumb" }, h("ol", { class: "crumbs" }, h("li", null, h("a", { href: link({ object: of.name }) }, data.title)), h("li", { "aria-current": "page" }, of.title)));
  const heading = { ladder: of.name === "" && data.fleet ? "Steps" : of.title, timeline: "Timeline", findings: "Findings" }[view];
  const head = h("div", { class: "main-head" }, crumbs, h("h2", null, heading), view === "ladder" && h("p", { class: "lead" }, of.about));
  if (view === "timeline") {
    main.replaceChildren(head, timelineView());
  } else if (view === "findings") {
    main.replaceChildren(head, of.findings.length === 0 ? h("p", null, "No findings.") : h("div", { class: "all-findings" }));
  } else {
    now.view = ladderView(of);
    main.replaceChildren(head, ...banner(of), nothing(), h("section", { id: "inside", "aria-label": "Matching objects", hidden: true }), now.view.element);
    fit(now.view);
  }
}

/** The errors of a ladder, above it, on screens of all sizes; warnings as one line. */
function banner(of) {
  const errors = of.findings.filter((f) => f.severity === "error");
  const warnings = of.findings.filter((f) => f.severity === "warning");
  if (!hasBanner(of)) return [];
  const all = h("a", { href: link({ view: "findings", component: of.name }) }, `Read all ${counted(of.findings.length, "finding")}`);
  if (errors.length === 0) return [h("p", { class: "banner warning" }, badge("warning", warnings.length), h("span", { "aria-hidden": "true" }, ` ${counted(warnings.length, "warning")}`), " ", all)];
  return [h("section", { class: "banner error", "aria-labelledby": "errors" }, h("h3", { id: "errors" }, counted(errors.length, "error")),
    h("ul", { class: "findings" }, errors.slice(0, 3).map(finding)), h("p", null, all))];
}

/** What stands on the page when nothing matches. */
const nothing = () => h("p", { id: "nothing", hidden: true }, "Nothing matches the search and the filters. ", h("button", { type: "button", onclick: () => { clear(); byId("query").focus(); } }, "Show all"));

/** Narrows what is shown, and notes it in the address. */
function narrow(changes) {
  note(changes);
  apply(place());
}

function apply(at) {
  const found = shown(now.of, at);
  byId("filters-toggle").classList.toggle("active", Boolean(at.kind || at.rung || at.of || at.only));
  if (now.name === "findings") return applyToFindings(at);
  if (!now.view) return say("");
  byId("nothing").hidden = !found || found.items.size > 0;
  if (now.found !== found) showOnly(now.view, found);
  now.found = found;
  inside(found);
  if (!found) return say("");
  const objects = [...found.inside.values()].reduce((sum, all) => sum + all.length, 0);
  say(`${found.items.size} of ${counted(now.of.items.length, now.of.noun)}${now.of.noun === "component" ? `, with ${counted(objects, "object")}` : ""}`);
}

/** Lists the objects of a fleet that match. */
function inside(found) {
  const section = byId("inside");
  const all = [...(found?.inside ?? [])].flatMap(([component, objects]) => objects.map((object) => ({ component, object })));
  section.hidden = all.length === 0;
  if (all.length === 0) return section.replaceChildren();
  section.replaceChildren(h("h3", null, "Matching objects", h("span", { class: "count" }, ` ${all.length}`)),
    longList(h("ul", { class: "matches" }), all, 12, ({ component, object }) => h("li", null,
      h("a", { href: object.href }, h("span", { class: "kind" }, object.kind), " ", h("span", { class: "name" }, object.name)), h("span", { class: "at" }, component.name))));
}

function applyToFindings(at) {
  const words = at.q.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (f) => `${f.severity} ${f.rule} ${f.component} ${f.object ?? ""} ${f.file ?? ""} ${f.message} ${f.remedy ?? ""}`.toLowerCase();
  const all = now.of.findings.filter((f) => words.every((word) => text(f).includes(word)) && (!at.of || f.component === at.of));
  const box = document.querySelector(".all-findings");
  if (!box) return;
  box.replaceChildren(...["error", "warning", "note"].map((severity) => [severity, all.filter((f) => f.severity === severity)]).filter(([, these]) => these.length > 0)
    .map(([severity, these]) => h("section", null, h("h3", null, counted(these.length, severity)), longList(h("ul", { class: "findings" }), these, 60, finding))));
  if (all.length === 0 && now.of.findings.length > 0) {
    box.replaceChildren(nothing());
    byId("nothing").hidden = false;
  }
  say(words.length > 0 || at.of ? `${all.length} of ${counted(now.of.findings.length, "finding")}` : "");
}

function say(text) {
  if (byId("matches").textContent !== text) byId("matches").textContent = text;
}

/** Searches for what was typed. */
function search() {
  clearTimeout(typed);
  if (place().q !== byId("query").value) narrow({ q: byId("query").value });
}

function firstMatch() {
  search();
  if (!now.view) return;
  if (now.view.shown(now.of.items[now.view.stop])) focusItem(now.view, now.view.stop);
}

/** The fields that narrow by what items are. */
function filters(of, at) {
  const box = byId("filters");
  if (box.dataset.of !== `${now.key} ${now.environment}`) {
    box.dataset.of = `${now.key} ${now.environment}`;
    const all = choices(of);
    const select = (name, title, values) => values.length > 1 && h("label", null, `${title} `,
      h("select", { name, onchange: (event) => narrow({ [name]: event.target.value }) }, h("option", { value: "" }, "any"), (values.includes(at[name]) || !at[name] ? values : [...values, at[name]]).map((value) => h("option", { value }, value))));
    box.replaceChildren(...[
      now.name === "ladder" && select("kind", "Kind", all.kinds), now.name === "ladder" && select("rung", "Rung", all.rungs), select("of", "Component", all.components),
      now.name === "ladder" && h("label", { class: "check" }, h("input", { type: "checkbox", name: "only", onchange: (event) => narrow({ only: event.target.checked ? "findings" : "" }) }), " with findings"),
      h("button", { type: "button", onclick: () => { clear(); byId("query").focus(); } }, "Clear"),
    ].filter(Boolean));
    if (at.kind || at.rung || at.of || at.only) openFilters(true);
  }
  for (const field of box.querySelectorAll("select")) field.value = at[field.name];
  for (const field of box.querySelectorAll("input")) field.checked = at[field.name] !== "";
}

function openFilters(open) {
  byId("filters").hidden = !open;
  byId("filters-toggle").setAttribute("aria-expanded", String(open));
}

function clear() {
  note({ q: "", kind: "", rung: "", of: "", only: "" });
  show();
}

/** Leaves the item that is chosen, and puts the focus back on it. */
function close() {
  const { view } = now;
  const item = view?.chosen;
  leave();
  if (item) focusItem(view, item.index);
}

function shortcut(event) {
  const inField = event.target.matches?.("input, select, textarea");
  if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    byId("query").focus();
    byId("query").select();
  } else if (event.key === "Escape") {
    if (event.target === byId("query") && byId("query").value) clear();
    else if (place().object) close();
    else if (now.view && document.activeElement === byId("query")) firstMatch();
  }
}

/** The choice of an environment, where there are several. */
function startEnvironments() {
  if (environments.length === 0) return;
  const all = h("option", { value: "" }, `all ${environments.length}`);
  byId("environments").append(h("label", null, "Environment ", h("select", { id: "environment", onchange: (event) => go({ environment: event.target.value }) },
    all, environments.map(({ environment }) => h("option", { value: environment }, environment)))));
  byId("environments").hidden = false;
}

const themes = ["auto", "light", "dark"];

function startTheme() {
  // Without local storage, the choice lasts until the page is closed.
  let theme = "auto";
  try {
    theme = localStorage.getItem("ladder-theme") ?? "auto";
  } catch { /* then it is not kept */ }
  const use = (name) => {
    theme = themes.includes(name) ? name : "auto";
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = `Theme: ${theme}`;
  };
  use(theme);
  byId("theme").addEventListener("click", () => {
    use(themes[(themes.indexOf(theme) + 1) % themes.length]);
    try {
      localStorage.setItem("ladder-theme", theme);
    } catch { /* as above */ }
  });
}
