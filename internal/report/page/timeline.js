// The simulated rollout as a bar chart, step by step.
import { environments, ladder, rollout, where } from "./data.js";
import { counted, h, moment, unseen } from "./dom.js";
import { link } from "./place.js";

export const hasTimeline = () => Boolean(rollout().timeline) || environments.length > 0;

export function timelineView() {
  const t = rollout().timeline;
  if (!t) return h("div", { class: "timeline" }, h("p", { class: "lead" }, "Each environment has its own rollout. Select one:"), choice("timeline"));
  const off = ladder("").items.filter((item) => item.off);
  const critical = new Set(t.criticalPath.map((c) => c.name));
  const stuck = t.applications.some((a) => a.end === null);
  const horizon = Math.max(t.totalSeconds, ...t.applications.map((a) => a.start)) * (stuck ? 1.05 : 1) || 1;
  return h("div", { class: "timeline" },
    h("p", { class: "lead" }, t.done ? `Simulated rollout${where()}: ${counted(t.applications.length, "Application")}, ${counted(t.steps.length, "step")}, ${moment(t.totalSeconds)}.` : "The simulated rollout does not complete."),
    h("p", null, "A step starts when all Applications of the previous one are synced and healthy. Durations are assumed unless measured. ",
      off.length > 0 && [off.map((item, i) => [i > 0 && ", ", named(item.name)]), off.length === 1 ? " is not deployed in this environment and is omitted. " : " are not deployed in this environment and are omitted. "], h("span", { class: "bar-key critical" }), " on the critical path ", h("span", { class: "bar-key" }), " others ",
      stuck && [h("span", { class: "bar-key never" }), " never healthy"]),
    chart(t, critical, horizon),
    t.stuck.length > 0 && h("section", null, h("h3", null, "Never healthy"), h("ul", null, t.stuck.map((x) => h("li", null, named(x.name), x.begins ? " starts, but does not become healthy: " : " does not start: ", x.why)))),
    t.criticalPath.length > 0 && h("section", null, h("h3", null, "Critical path"), h("p", null, "The duration of the rollout is the sum of these."),
      h("ol", { class: "path" }, t.criticalPath.map((c) => h("li", null, h("span", { class: "when" }, moment(c.start)), " ", named(c.name), h("span", { class: "because" }, ` ${c.why}`))))),
    t.unordered.length > 0 && h("section", null, h("h3", null, "Dependencies without an order"), h("p", null, "These Applications are in ApplicationSets that run independently."),
      h("ul", null, t.unordered.map((c) => h("li", null, named(c.from), " depends on ", named(c.to), `, because ${c.why}; ${c.waits > 0 ? `it starts ${moment(c.waits)} too early in the simulation` : "nothing enforces the order, but in this simulation it happens to start late enough"}`)))));
}

/** The environments, each with how its rollout goes. */
export function choice(view) {
  return h("ul", { class: "plain environments" }, environments.map(({ environment, timeline }) => h("li", null, h("a", { href: link({ environment, view }) }, environment), h("span", { class: "about" },
    timeline.done ? ` ${counted(timeline.applications.length, "Application")} in ${moment(timeline.totalSeconds)} and ${counted(timeline.steps.length, "step")}` : " does not complete"))));
}

const named = (name) => h("a", { href: link({ object: name }) }, name);

function chart(t, critical, horizon) {
  const every = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600].find((seconds) => horizon / seconds <= 8) ?? Math.ceil(horizon / 8 / 3600) * 3600;
  const axis = h("div", { class: "axis", "aria-hidden": "true" });
  for (let at = 0; at <= horizon; at += every) {
    const tick = h("span", null, moment(at));
    tick.style.left = `${(at / horizon) * 100}%`;
    axis.append(tick);
  }
  const steps = t.steps.map((step) => {
    const members = t.applications.filter((a) => a.step === step.step && (a.set ?? "") === (step.set ?? ""));
    return { step, members };
  });
  const table = h("table", null,
    h("caption", { class: "unseen" }, "Applications by step, with their start and when they are healthy"),
    h("thead", null, h("tr", null, ["Application", "Starts", "Healthy"].map((title) => h("th", { scope: "col" }, title)), h("th", { scope: "col", class: "bars" }, unseen("Time"), axis))),
    steps.map(({ step, members }, k) => h("tbody", null,
      h("tr", { class: "step" }, h("th", { scope: "rowgroup", colspan: "4", id: `step-${k}` }, h("span", { class: "step-name" }, [step.set, step.step].filter(Boolean).join(": ")), " ", h("span", { class: "about" }, about(step)))),
      members.map((a) => row(a, critical.has(a.name), horizon)))));
  table.style.setProperty("--tick", `${(every / horizon) * 100}%`);
  return h("div", { class: "chart" }, table);
}

function about(step) {
  const parts = [counted(step.applications?.length ?? 0, "member")];
  if (step.manual) parts.push("synced manually");
  else if (step.maxUpdate) parts.push(`${step.maxUpdate} at once`);
  else parts.push("all at once");
  if (step.start !== null) parts.push(step.end === null ? "does not complete" : `takes ${moment(step.end - step.start)}`);
  return parts.join(", ");
}

function row(a, isCritical, horizon) {
  const bar = h("span", { class: `bar${a.end === null ? " never" : isCritical ? " critical" : ""}` });
  bar.style.left = `${(a.start / horizon) * 100}%`;
  bar.style.width = `${(((a.end ?? horizon) - a.start) / horizon) * 100}%`;
  if (a.ready !== null && a.ready > a.start) {
    const waits = h("span", { class: "waits" });
    waits.style.width = `${((a.ready - a.start) / (a.end - a.start)) * 100}%`;
    bar.append(waits);
  }
  return h("tr", { class: isCritical ? "critical" : null, title: `${a.why} (${a.takes})` },
    h("th", { scope: "row" }, named(a.name), isCritical && unseen(" on the critical path")),
    h("td", null, moment(a.start)), h("td", null, a.end === null ? "never" : moment(a.end)),
    h("td", { class: "bars" }, h("span", { class: "track", "aria-hidden": "true" }, bar)));
}
