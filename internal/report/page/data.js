// The data of the page. A component and a fleet are both ladders: bands with items,
// and edges between the items.
import { counted, moment } from "./dom.js";
import { link } from "./place.js";

export const data = JSON.parse(document.getElementById("data").textContent);

/** The rollout that is looked at: that of a component is without one. */
let current = data.rollouts?.[0] ?? {};

export const rollout = () => current;

/** Turns to the rollout of an environment; that of all, if there is none of that name. */
export function enter(environment) {
  current = data.rollouts?.find((r) => environment && r.environment === environment) ?? data.rollouts?.[0] ?? {};
}

/** The rollouts of environments, of which the reader chooses one. */
export const environments = data.rollouts?.length > 1 ? data.rollouts.slice(1) : [];

const phaseMarks = { PreSync: "Pre", PostSync: "Post", SyncFail: "Fail", PreDelete: "PreD", PostDelete: "PostD" };

/** How many waves each sync applies, in all its phases. */
const waves = (of) => of.waves.filter((w) => ["PreSync", "Sync", "PostSync"].includes(w.phase)).length;

const made = new Map();

/** The ladder of a component by its name, or of the whole page. */
export function ladder(name) {
  const key = data.fleet ? `${current.environment ?? ""} ${name}` : "";
  if (!made.has(key)) made.set(key, make(name));
  return made.get(key);
}

function make(name) {
  if (!data.fleet) return objectLadder(data.ladders[0], data.ladders[0].name, "");
  if (name === "") return fleetLadder();
  const of = data.ladders[current.components.find((c) => c.name === name)?.ladder];
  return of ? objectLadder(of, name, name) : null;
}

function objectLadder(from, title, name) {
  const items = from.objects.map((o, index) => ({
    index,
    id: o.id,
    kind: o.kind,
    icon: o.icon,
    group: o.group ?? "",
    name: o.name,
    namespace: o.namespace ?? "",
    band: o.wave,
    rung: from.rungs[o.rung]?.name ?? "",
    why: o.why,
    because: o.because,
    source: o.source ?? "",
    file: o.file ? o.file + (o.line ? `:${o.line}` : "") : "",
    findings: [],
    held: [],
    href: link({ component: name, object: o.id }),
    words: `${o.kind} ${o.group ?? ""} ${o.namespace ?? ""}/${o.name} ${from.rungs[o.rung]?.name ?? ""} ${title}`.toLowerCase(),
  }));
  for (const f of from.findings) if (f.about >= 0) found(items[f.about], f);
  const bands = from.waves.map((w) => {
    // Nothing waits for the last wave: its objects have health, but hold nothing.
    const holds = [["gatedBy", w.awaited ? "awaited" : "health"], ["blind", "Argo CD does not wait"], ["hangs", "can hang"], ["degrades", "can fail"]];
    const held = holds.flatMap(([list, mark]) => (w[list] ?? []).map((o) => ({ item: o.object, mark, why: o.why, blind: list === "blind" })));
    for (const o of held) items[o.item].held.push({ ...o, awaited: w.awaited });
    return {
      mark: w.phase === "Sync" ? String(w.wave) : phaseMarks[w.phase] ?? "–",
      title: w.title,
      about: w.about ?? "",
      why: w.why,
      gate: gateText(w),
      awaited: Boolean(w.awaited && !w.open && (w.gatedBy || w.hangs)),
      held,
      items: [],
    };
  });
  for (const item of items) bands[item.band].items.push(item);
  return connected({
    name,
    title,
    noun: "object",
    about: `${counted(items.length, "object")} in ${counted(waves(from), "wave")}, ${counted(from.waves.filter((w) => w.gate).length, "gate")}${blindness(from)}`,
    bands,
    items,
    rungs: from.rungs,
    findings: from.findings.map((f) => ({ ...f, component: name, href: f.about >= 0 ? items[f.about].href : null })),
    edges: from.references,
  });
}

/** A finding about an item, by whose words the item is found, too. */
function found(item, finding) {
  item.findings.push(finding);
  item.words += ` ${finding.severity} ${finding.rule} ${finding.message}`.toLowerCase();
}

/** How many objects Argo CD does not wait for, although later ones need them. */
function blindness(of) {
  const blind = of.waves.reduce((sum, w) => sum + (w.blind?.length ?? 0), 0);
  return blind > 0 ? `; Argo CD does not wait for ${counted(blind, "object")}` : "";
}

/** What stands between a wave and the next, in words. */
function gateText(wave) {
  if (!wave.phase) return "";
  if (!wave.awaited) return "The sync ends here: Argo CD does not wait for this wave";
  const waited = wave.gatedBy?.length ?? 0;
  const open = wave.open || (waited === 0 && !wave.hangs);
  if (open && wave.blind) return `Argo CD does not wait here: ${counted(wave.blind.length, "object")} that later ones need, without a health check`;
  if (open) return "No object here has a health check, so the next wave starts immediately";
  const risks = [[wave.hangs, "can hang"], [wave.degrades, "can fail"], [wave.blind, "for which it does not wait"]].filter(([list]) => list).map(([list, what]) => `, ${list.length} ${what}`);
  return `Argo CD waits here until ${waited === 1 ? "1 object is" : `${waited} objects are`} healthy${risks.join("")}`;
}

function fleetLadder() {
  const spans = new Map((current.timeline?.applications ?? []).map((span) => [span.name, span]));
  const taken = new Map();
  const items = current.components.map((c, index) => {
    const of = data.ladders[c.ladder];
    const again = taken.get(c.name) ?? 0;
    taken.set(c.name, again + 1);
    const id = again ? `${c.name} (${again + 1})` : c.name;
    return {
      index,
      id,
      kind: c.kind ?? "component",
      group: "",
      name: c.name,
      namespace: c.namespace ?? "",
      band: c.step,
      rung: c.rung ?? "",
      why: of ? `${counted(of.objects.length, "object")} in ${counted(waves(of), "wave")}` : "not rendered",
      about: c.about ?? "",
      because: -1,
      source: "",
      file: "",
      span: spans.get(c.name),
      off: Boolean(c.off),
      findings: [...(of?.findings ?? [])],
      held: [],
      component: c,
      href: link({ object: id }),
      inside: of && !again ? link({ component: c.name }) : null,
      words: `${c.name} ${c.kind ?? ""} ${c.namespace ?? ""} ${c.rung ?? ""} ${c.domain ?? ""}`.toLowerCase(),
    };
  });
  const findings = items.flatMap((item) => (item.inside ? ladder(item.name).findings : []));
  for (const f of current.findings ?? []) {
    if (f.about >= 0) found(items[f.about], f);
    findings.push({ ...f, component: items[f.about]?.name ?? "", href: items[f.about]?.href ?? null });
  }
  const bands = (current.steps ?? []).map((p) => ({ mark: p.title.replace(/^(step|wave) /, "").replace(/^no (step|wave)$/, "–"), title: p.title, about: p.about, why: [], gate: "", held: [], items: [] }));
  for (const item of items) bands[item.band].items.push(item);
  for (const band of bands) {
    const played = band.items.map((item) => item.span).filter(Boolean);
    const ends = played.map((span) => span.end);
    if (played.length > 0) {
      const end = ends.includes(null) ? "never" : moment(Math.max(...ends));
      band.when = `${moment(Math.min(...played.map((span) => span.start)))} to ${end}`;
    }
  }
  const objects = current.components.reduce((sum, c) => sum + (data.ladders[c.ladder]?.objects.length ?? 0), 0);
  const off = items.filter((item) => item.off).length;
  return connected({
    name: "",
    title: data.title,
    noun: "component",
    about: `${counted(items.length, "component")}${off > 0 ? `, of which ${off === 1 ? "1 is" : `${off} are`} not deployed,` : ""} in ${counted(bands.length, "step")}, ${counted(objects, "object")}${where()}`,
    bands,
    items,
    rungs: [],
    findings,
    edges: current.needs ?? [],
  });
}

/** Where the rollout is, in words. */
export const where = () => (current.environment ? `, in ${current.environment}` : environments.length > 0 ? `, in ${counted(environments.length, "environment")}` : "");

/** Gives a ladder its ways from items to edges and from ids to items. */
function connected(of) {
  of.needs = of.items.map(() => []);
  of.neededBy = of.items.map(() => []);
  for (const edge of of.edges) {
    if (edge.from === edge.to) continue;
    of.needs[edge.from].push(edge);
    of.neededBy[edge.to].push(edge);
  }
  of.awaited = new Set(of.edges.filter((e) => e.gate && !e.blind).map((e) => e.to));
  of.byId = new Map(of.items.map((item) => [item.id, item]));
  return of;
}
