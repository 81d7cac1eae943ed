// The details next to the ladder: of the selected item, or how to read the ladder.
import { environments, rollout } from "./data.js";
import { badge, breakable, breakablePath, byId, counted, fill, h, hourglass, longList, moment } from "./dom.js";
import { link } from "./place.js";
import { choice } from "./timeline.js";

/** The number of entries of a list that are initially shown. */
const mostEntries = 40;

/** The maximum number of squares in a line of the map. */
const mostSquares = 120;

/** Ladders with more items have a map and small cards. */
export const manyItems = 40;

/** Shows the details of an item. */
export function tell(of, item) {
  byId("details").classList.add("chosen");
  fill(byId("details"),
    h("div", { class: "details-head" },
      h("h2", { id: "details-title" }, h("span", { class: "kind", "data-icon": item.icon }, item.kind), h("span", { class: "name" }, breakable(item.name))),
      h("a", { class: "close", href: link({ component: of.name }), "data-close": true, "aria-label": "Close details", "aria-keyshortcuts": "Escape" }, "✕")),
    item.inside && h("p", null, h("a", { class: "open", href: item.inside }, "Open ladder")),
    facts(of, item),
    item.about && h("p", null, item.about),
    reasons(of, item),
    findingsOf(item),
    heldBy(item),
    ends(of, item, "Depends on", of.needs[item.index], (edge) => edge.to),
    ends(of, item, "Needed by", of.neededBy[item.index], (edge) => edge.from));
  byId("details").scrollTop = 0;
}

function facts(of, item) {
  const band = of.bands[item.band];
  const rows = [
    ["Group", item.group], ["Namespace", item.namespace], [of.noun === "object" ? "Wave" : "Step", band.title.replace(/^(wave|step) /, "")],
    ["Rung", item.rung], ["From", item.file && breakablePath(item.file)], ["Content", item.component ? item.why : ""],
    ["Simulated", item.span ? `${moment(item.span.start)} to ${item.span.end === null ? "never" : moment(item.span.end)}` : ""],
  ];
  return h("dl", null, rows.filter(([, value]) => value).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** The chain of reasons that leads to a wave. */
function reasons(of, item) {
  if (of.noun !== "object") return null;
  const steps = [];
  const seen = new Set();
  let at = item;
  while (at && !seen.has(at)) {
    seen.add(at);
    const who = at === item ? [] : [h("a", { href: at.href }, `${at.kind} ${at.name}`), " "];
    steps.push(h("li", null, who, h("strong", null, of.bands[at.band].title), ": ", at.why));
    if (at.because < 0) {
      const rung = of.rungs.find((r) => r.name === at.rung);
      if (rung && !/^has wave .* in its manifest/.test(at.why)) steps.push(h("li", { class: "ground" }, of.bands[at.band].title === `wave ${rung.wave}` ? `Rung ${rung.name} starts at wave ${rung.wave}: ${rung.why}.` : `Rung ${rung.name} normally starts at wave ${rung.wave}; here, it shares ${of.bands[at.band].title} with later rungs: ${rung.why}.`, at.source && h("span", { class: "source" }, ` Source: ${at.source}`)));
    }
    at = of.items[at.because];
  }
  return [h("h3", null, of.noun === "object" ? "Why it is in this wave" : "Why it is in this step"), h("ol", { class: "chain" }, steps)];
}

function findingsOf(item) {
  if (item.findings.length === 0) return null;
  return [h("h3", null, "Findings"), longList(h("ul", { class: "findings" }), item.findings, mostEntries, finding)];
}

/** One finding in a list. */
export function finding(f) {
  const from = f.file ? f.file + (f.line ? `:${f.line}` : "") : "";
  const about = [f.component, f.object].filter((name, i, all) => name && all.indexOf(name) === i).join(" · ");
  return h("li", { class: `finding ${f.severity}` },
    h("p", { class: "finding-head" }, h("span", { class: `badge ${f.severity}` }, f.severity), " ", f.href ? h("a", { href: f.href }, about || "here") : about),
    h("p", null, f.field && h("code", null, breakable(f.field)), f.field && " ", f.message),
    f.remedy && h("p", { class: "remedy" }, h("span", { class: "lead" }, "Fix"), " ", f.remedy),
    h("p", { class: "source" }, f.rule, f.rule && from && " · ", breakablePath(from)));
}

function heldBy(item) {
  if (item.held.length === 0) return null;
  const awaited = item.held.some((held) => held.awaited && !held.blind);
  return [h("h3", null, awaited ? "Why Argo CD waits for it" : "Health"), h("ul", { class: "plain" }, item.held.map((held) => h("li", null, h("span", { class: "mark" }, held.mark), " ", held.why)))];
}

/** The edges that begin or end at an item, gathered by their other ends. */
function ends(of, item, title, edges, other) {
  if (edges.length === 0) return null;
  const by = new Map();
  for (const edge of edges) {
    const index = other(edge);
    if (!by.has(index)) by.set(index, []);
    by.get(index).push(edge);
  }
  const all = [...by].sort(([, a], [, b]) => Number(b.some((e) => e.gate)) - Number(a.some((e) => e.gate)) || Number(a.every((e) => e.quiet)) - Number(b.every((e) => e.quiet)));
  return [h("h3", null, title, h("span", { class: "count" }, ` ${all.length}`)), longList(h("ul", { class: "ends" }), all, mostEntries, ([index, these]) => end(of, of.items[index], these))];
}

function end(of, other, edges) {
  const tags = [
    edges.some((e) => e.gate && !e.blind) && h("span", { class: "tag gate" }, hourglass(), "healthy first"),
    edges.some((e) => e.blind) && h("span", { class: "tag" }, "Argo CD does not wait"),
    edges.some((e) => e.against) && h("span", { class: "tag against" }, "against the order"),
    edges.every((e) => e.inferred) && h("span", { class: "tag" }, "inferred"),
    edges.every((e) => e.loose) && h("span", { class: "tag" }, "no effect on the order"),
  ];
  return h("li", null,
    h("a", { href: other.href }, h("span", { class: "kind", "data-icon": other.icon }, other.kind), " ", h("span", { class: "name" }, breakable(other.name))),
    h("span", { class: "at" }, of.bands[other.band].title), " ", tags,
    edges.map((edge) => [h("p", null, edge.why, " ", edge.field && h("code", null, breakable(edge.field))), edge.reasons && longList(h("ul", { class: "reasons" }), edge.reasons, 5, (reason) => h("li", null, reason))]));
}

/** Whether the findings are shown above the ladder. */
export const hasBanner = (of) => of.findings.some((f) => f.severity !== "note");

/** Summarizes a ladder, if no item is selected. */
export function sumUp(of, view) {
  const { timeline } = rollout();
  const graded = ["error", "warning", "note"].map((severity) => [severity, of.findings.filter((f) => f.severity === severity).length]);
  const above = view === "ladder" && hasBanner(of);
  byId("details").classList.remove("chosen");
  fill(byId("details"),
    (!above || timeline) && h("h2", null, "Overview"),
    view !== "ladder" && h("p", null, `${of.about}.`),
    !above && of.findings.length > 0 && h("ul", { class: "plain sum" }, graded.filter(([, n]) => n > 0).map(([severity, n]) => h("li", null, badge(severity, n), h("span", { "aria-hidden": "true" }, ` ${counted(n, severity)}`)))),
    of.findings.length === 0 && h("p", null, "No findings."),
    !above && of.findings.length > 0 && view !== "findings" && h("p", null, h("a", { href: link({ view: "findings", component: of.name }) }, "Read the findings")),
    of.noun === "component" && timeline && view !== "timeline" && h("p", null, h("a", { href: link({ view: "timeline" }) },
      timeline.done ? `The simulated rollout takes ${moment(timeline.totalSeconds)}` : "The simulated rollout never finishes")),
    of.noun === "component" && !timeline && environments.length > 0 && view !== "timeline" && [h("h3", null, "Simulated rollouts"), choice("timeline")],
    view === "ladder" && of.items.length > manyItems && map(of),
    view === "ladder" && howTo(of.noun === "component"));
}

/** A map of a large ladder: a line for each band, with a square for each item. */
function map(of) {
  return [h("h2", null, "Map"), h("ol", { class: "plain map" }, of.bands.map((band, k) => h("li", null,
    h("button", { type: "button", "aria-label": `Go to ${band.title}`, onclick: () => byId(`band-${k}`).scrollIntoView({ block: "start" }) },
      h("span", { class: "mark" }, band.mark), h("span", { class: "squares" }, band.items.slice(0, mostSquares).map((item) => h("span", { class: `square ${gravest(item)}`, "data-rung": item.rung })))))))];
}

const gravest = (item) => ["error", "warning"].find((severity) => item.findings.some((f) => f.severity === severity)) ?? "";

/** How to read a ladder. */
function howTo(isFleet) {
  return [
    h("h2", null, "How to read it"),
    h("ul", { class: "plain legend" },
      h("li", null, h("span", { class: "key" }, h("span", { class: "rung-key" })), isFleet
        ? "Each row is a step of the rollout, the first at the top. It starts when all steps before it are synced and healthy."
        : "Each row is a wave, the first at the top. Argo CD applies its objects, and continues when they are healthy."),
      h("li", null, h("span", { class: "key line gate" }), h("span", null, h("strong", null, "Thick arrow: a gate."), " The target must be healthy first.")),
      h("li", null, h("span", { class: "key line" }), "Thin arrow: the target must be applied first."),
      h("li", null, h("span", { class: "key line inferred" }), "Dashed arrow: inferred from indirect evidence."),
      h("li", null, h("span", { class: "key line against" }), h("span", null, h("strong", null, "Red:"), " the order contradicts the dependency.")),
      h("li", null, h("span", { class: "key" }, hourglass()), "Hourglass: other objects wait until this one is healthy."),
      h("li", null, h("span", { class: "key" }), h("a", { href: "https://github.com/ladder-cmp/ladder/blob/main/docs/glossary.md" }, "Glossary"))),
    h("p", { class: "keys" }, "Hover over an item to see its arrows; select it to keep them. ", ["←", "↑", "↓", "→"].map((key) => [h("kbd", null, key), " "]), "move, ",
      h("kbd", null, "Enter"), " selects, ", h("kbd", null, "Esc"), " closes, ", h("kbd", null, "/"), " searches."),
  ];
}
