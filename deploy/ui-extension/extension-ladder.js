// Shows in Argo CD's user interface what a sync waits for, and why: an item of the status
// panel with a flyout, and the view "Ladder" of an Application.
//
// Argo CD's server serves this file as it is, joined with those of other extensions, to all
// browsers: it is one function without a build step. React is the page's own, 16 up to
// Argo CD 3.4 and 19 since 3.5; the code uses what both have. Everything shown is what the
// user may read: the Application, its tree and, as GET requests, its managed resources, its
// manifests and events. Texts from the cluster only become text nodes.
//
// Helm's chart passes the file through a template: two opening braces must not be adjacent.
(function ladder() {
  "use strict";
  const { React, extensionsAPI: api } = window;
  if (!React || !api || window.ladderExtension) return; // the file may be served twice while it is replaced

  // ---------------------------------------------------------------- logic: values in, values out

  const WHY = "ladder-cmp.github.io/why";
  const PHASES = ["PreSync", "Sync", "PostSync", "SyncFail"];
  const HELM = new Map([["pre-install", "PreSync"], ["pre-upgrade", "PreSync"], ["post-install", "PostSync"], ["post-upgrade", "PostSync"]]);
  // Argo CD computes the waves of objects to be removed anew in each step, and reports none.
  const REMOVALS = Infinity;

  const list = (value) => (Array.isArray(value) ? value : []);
  const keyOf = (o) => [o.group || "", o.kind, o.namespace || "", o.name].join("/");
  const nameOf = (o) => `${o.kind} ${o.name}`;
  const count = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

  // waveOf reads a wave as Argo CD does: what is no integer counts as absent.
  function waveOf(notes) {
    for (const key of ["argocd.argoproj.io/sync-wave", "helm.sh/hook-weight"]) {
      if (/^[+-]?\d+$/.test(notes[key])) return parseInt(notes[key], 10);
    }
    return 0;
  }

  function hookPhases(notes) {
    const names = (key) => String(notes[key] || "").split(",").map((name) => name.trim()).filter(Boolean);
    const own = names("argocd.argoproj.io/hook");
    const all = own.length > 0 ? own : names("helm.sh/hook").map((name) => HELM.get(name));
    return PHASES.filter((phase) => all.includes(phase));
  }

  // readTargets returns what the manifests say about order: of each object the wave and
  // Ladder's reason, and the hooks, which managed resources do not contain.
  function readTargets(managed, manifests, namespace) {
    const targets = { objects: new Map(), hooks: [] };
    const read = (text, id) => {
      let o = null;
      try {
        o = JSON.parse(text);
      } catch {
        return; // it says nothing about order
      }
      if (!o || !o.metadata) return;
      const notes = o.metadata.annotations || {};
      const [version, group] = String(o.apiVersion).split("/").reverse();
      const is = { wave: waveOf(notes), why: String(notes[WHY] || ""), phases: hookPhases(notes) };
      const own = id || { group, version, kind: o.kind, namespace: o.metadata.namespace, name: o.metadata.name };
      targets.objects.set(keyOf(own), is);
      if (id || is.phases.length === 0 || !own.name) return;
      // A manifest may leave its namespace out, and does not say whether its kind has one.
      const placed = { ...own, namespace: own.namespace || namespace };
      targets.objects.set(keyOf(placed), is);
      targets.hooks.push({ ...placed, ...is, keys: [keyOf(own), keyOf(placed)] });
    };
    for (const r of list(managed)) read(r.targetState, r);
    for (const text of list(manifests)) read(text, null);
    return targets;
  }

  // order compares positions as Argo CD sorts tasks: by phase, then by wave. An unknown wave
  // is before the others.
  function order(a, b) {
    const rank = (o) => (o.wave === null ? -REMOVALS : o.wave);
    const phase = PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase);
    return phase || (rank(a) === rank(b) ? 0 : rank(a) < rank(b) ? -1 : 1);
  }

  // stateOf says what became of an object that has an entry in the result of the sync. Entries
  // of every object have a hookPhase, and those of the last wave keep Running after a success.
  function stateOf(entry, op) {
    if (entry.status === "SyncFailed" || entry.hookPhase === "Failed" || entry.hookPhase === "Error") return "failed";
    if (entry.hookPhase === "Running" && op.active) return "awaited";
    if (entry.status === "Pruned") return "removed";
    if (entry.status === "PruneSkipped") return "kept";
    return entry.hookPhase === "Running" && op.phase !== "Succeeded" ? "applied" : "done";
  }

  // stateWithout says what becomes of an object without an entry.
  function stateWithout(item, op, reached) {
    if (op.selected && !op.selected.some((s) => s.kind === item.kind && s.name === item.name && (s.group || "") === item.group && (!s.namespace || s.namespace === item.namespace))) return "left out";
    if (item.wave === REMOVALS) return op.phase === "Succeeded" ? "kept" : "next";
    if (op.phase === "Succeeded" && item.sync === "OutOfSync") return "out of sync";
    const passed = op.phase === "Succeeded" || (reached && order(item, reached) < 0);
    const skipped = (op.outOfSyncOnly || !op.phase) && item.sync === "Synced";
    return passed || skipped ? "unchanged" : "next";
  }

  // readOperation returns the state of the last sync. Argo CD reports the pause before a retry
  // as phase Running with a time at which it finished.
  function readOperation(app) {
    const state = (app.status && app.status.operationState) || {};
    const sync = (state.operation && state.operation.sync) || {};
    const phase = state.phase || "";
    const ended = ["Succeeded", "Failed", "Error"].includes(phase);
    const retry = phase === "Running" && Boolean(state.finishedAt);
    return {
      phase, ended, retry, active: phase !== "" && !ended && !retry, message: String(state.message || ""), startedAt: state.startedAt,
      selected: list(sync.resources).length > 0 ? sync.resources : null,
      outOfSyncOnly: list(sync.syncOptions).includes("ApplyOutOfSyncOnly=true"),
      result: state.syncResult || {},
    };
  }

  // readItems returns the objects of an Application, one for each phase in which a sync applies them.
  function readItems(app, tree, targets, op) {
    const nodes = new Map(list(tree && tree.nodes).map((node) => [keyOf(node), node]));
    const known = targets || { objects: new Map(), hooks: [] };
    const items = new Map();
    const hookWaves = new Map();
    const add = (o, phase, wave, more) => {
      const key = keyOf(o);
      const node = nodes.get(key) || {};
      const health = o.health || node.health || {};
      const item = {
        key, phase, wave, group: o.group || "", kind: o.kind, namespace: o.namespace || "", name: o.name, version: o.version,
        health: health.status || "", note: health.message || "", uid: node.uid, why: (known.objects.get(key) || {}).why || "", hook: false, ...more,
      };
      items.set(`${phase} ${key}`, item);
      return item;
    };
    for (const r of list(app.status && app.status.resources)) {
      if (!r.hook) add(r, "Sync", r.requiresPruning ? REMOVALS : r.syncWave || 0, { sync: r.status });
      else if (r.syncWave !== undefined) hookWaves.set(keyOf(r), r.syncWave);
    }
    let last = null;
    for (const entry of list(op.result.resources)) { // in the order of execution
      const phase = entry.syncPhase || entry.hookType || "Sync";
      const key = keyOf(entry);
      const target = known.objects.get(key);
      const inherited = last && last.phase === phase && last.wave !== REMOVALS ? last.wave : null;
      const wave = entry.status === "Pruned" ? REMOVALS : [target && target.wave, hookWaves.get(key), inherited].find((w) => w !== undefined);
      // Entries have the Application's namespace also for kinds that have none.
      last = items.get(`${phase} ${key}`) || items.get(`${phase} ${keyOf({ ...entry, namespace: "" })}`) || add(entry, phase, wave, { hook: Boolean(entry.hookType) });
      last.entry = entry;
    }
    for (const hook of known.hooks) {
      for (const phase of hook.phases) {
        if (phase !== "SyncFail" && !op.selected && !hook.keys.some((key) => items.has(`${phase} ${key}`))) add(hook, phase, hook.wave, { hook: true });
      }
    }
    return [...items.values()].sort(order);
  }

  // model returns the positions of the last sync, from the first to the last, and what blocks
  // it. Without targets, it knows what the Application says; without a tree, no causes.
  function model(app, tree, targets) {
    const op = readOperation(app);
    const items = readItems(app, tree, targets, op);
    const applied = items.filter((item) => item.entry);
    for (const item of applied) item.state = stateOf(item.entry, op);
    const reached = applied.filter((item) => item.wave !== REMOVALS).pop();
    for (const item of items) if (!item.entry) item.state = stateWithout(item, op, reached);
    // Argo CD names deletions that it waits for in its message alone.
    const [, verb, group, kind, name] = /^waiting for (deletion|pruning confirmation) of (?:hook )?([^/\s]*)\/([^/\s]+)\/(\S+)/.exec(op.message) || [];
    const removed = op.active && verb && items.find((item) => item.group === group && item.kind === kind && item.name === name);
    if (removed) Object.assign(removed, { state: "awaited", wait: verb === "deletion" ? "the deletion of " : "your confirmation to remove " });
    const is = (state) => items.filter((item) => item.state === state);
    const failed = op.active ? [] : is("failed");
    const blockers = op.active ? is("awaited") : failed;
    // What is out of sync after a success is new or was changed since.
    const sick = op.phase === "Succeeded" ? items.filter((item) => !item.hook && item.sync !== "OutOfSync" && !["", "Healthy"].includes(item.health)) : [];
    const at = op.active ? blockers[blockers.length - 1] || reached : failed[0] || reached;
    const positions = positionsOf(items);
    return { ...op, items, positions, blockers, sick, failed: is("failed"), drifted: is("out of sync").length, next: is("next").length, explained: items.some((item) => item.why), current: positions.find((p) => at && p.items.includes(at)) || null };
  }

  const URGENCY = ["failed", "awaited", "next", "applied"];

  function positionsOf(items) {
    const positions = [];
    for (const item of items) {
      let p = positions[positions.length - 1];
      if (!p || p.phase !== item.phase || p.wave !== item.wave) positions.push((p = { id: `${item.phase} ${item.wave}`, phase: item.phase, wave: item.wave, items: [] }));
      p.items.push(item);
    }
    for (const p of positions) {
      const urgency = (item) => (URGENCY.indexOf(item.state) + URGENCY.length + 1) % (URGENCY.length + 1);
      p.items.sort((a, b) => urgency(a) - urgency(b));
      const states = new Set(p.items.map((item) => item.state));
      p.state = ["failed", "awaited", "next"].find((state) => states.has(state)) || (p.items.some((item) => item.entry) ? "done" : "unchanged");
      const peers = positions.filter((other) => other.phase === p.phase && other.wave !== REMOVALS);
      Object.assign(p, { index: peers.indexOf(p) + 1, of: peers.length });
    }
    return positions;
  }

  function placeOf(p) {
    if (p.wave === REMOVALS) return "objects to remove";
    if (p.wave === null) return p.phase;
    return p.phase === "Sync" ? `wave ${p.wave}` : `${p.phase}, wave ${p.wave}`;
  }

  const numbered = (p) => placeOf(p) + (p.of > 1 && p.index > 0 ? ` (${p.index} of ${p.of})` : "");
  const several = (items) => nameOf(items[0]) + (items.length > 1 ? ` and ${items.length - 1} more` : "");
  const cut = (text, most = 1000) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  // headline is the answer in one line, with a tone: good, busy, bad or idle.
  function headline(m) {
    const at = m.current ? numbered(m.current) : "";
    const failure = at && m.blockers.length > 0 ? `${at} failed: ${several(m.blockers)}` : `failed: ${cut(m.message, 160)}`;
    if (!m.phase) return { tone: "idle", text: "not synced yet" };
    if (m.retry) return { tone: "bad", text: `${failure}; waits for the next attempt` };
    if (m.ended && m.phase !== "Succeeded") return { tone: "bad", text: failure };
    if (m.active) {
      const text = m.blockers.length > 0 ? `${at}: waits for ${m.blockers[0].wait || ""}${several(m.blockers)}` : /sync window/.test(m.message) ? "waits for a sync window" : at ? `${at}: applied` : "begins";
      const whole = m.failed.length > 0 ? `${text}; ${several(m.failed)} failed` : text;
      return { tone: m.failed.length > 0 ? "bad" : "busy", text: m.phase === "Terminating" ? `is being terminated; ${whole}` : whole };
    }
    if (m.sick.length === 0 && m.drifted > 0) return { tone: "idle", text: `the last sync is done; ${count(m.drifted, "object")} out of sync` };
    if (m.sick.length === 0) return { tone: "good", text: `done: ${count(m.positions.length, "wave")}, ${count(m.items.length, "object")}` };
    return { tone: m.sick.some((item) => ["Degraded", "Missing"].includes(item.health)) ? "bad" : "busy", text: `synced, but not healthy: ${several(m.sick)}` };
  }

  // saidOf is what an object says of its state. The entry of one that is awaited and no hook
  // keeps the output of its apply.
  function saidOf(item) {
    const message = (item.entry && item.entry.message) || "";
    return item.state === "failed" || item.hook ? message || item.note : item.note;
  }

  // ageOf is the time since an instant; clocks may differ, so it is never negative.
  function ageOf(instant, now) {
    const minutes = Math.max(0, Math.floor((now - Date.parse(instant)) / 60000));
    if (Number.isNaN(minutes)) return "";
    if (minutes < 1) return "less than 1 min";
    if (minutes < 60) return `${minutes} min`;
    return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} days`;
  }

  // hints are facts beside the positions that change what to do.
  function hints(app, m) {
    const all = [];
    const running = m.active || m.retry;
    const revisions = (o) => (list(o.revisions).length > 0 ? o.revisions : [o.revision || ""]);
    const synced = revisions(m.result);
    revisions((app.status && app.status.sync) || {}).forEach((wanted, i) => {
      if (running && wanted && synced[i] && wanted !== synced[i]) all.push(`Commit ${wanted.slice(0, 8)} waits until this sync of ${synced[i].slice(0, 8)} ends. If it is the fix, terminate the sync.`);
    });
    if (running && !app.operation) all.push("Argo CD no longer continues this sync: the Application has no operation field. Sync again.");
    if (app.metadata.deletionTimestamp) all.push("The Application is being deleted.");
    if (m.selected) all.push(`This sync applies ${count(m.selected.length, "selected object")} and no hooks.`);
    for (const c of list(app.status && app.status.conditions)) all.push(`${c.type}: ${c.message}`);
    if (!m.explained && m.positions.length > 0) all.push("The objects do not say why they are in their wave. Ladder writes its reasons with the parameter explain: annotations.");
    return all;
  }

  // dependentsOf returns the objects whose reason names an object.
  function dependentsOf(item, items) {
    const name = item.namespace ? `${item.kind} ${item.namespace}/${item.name}` : nameOf(item);
    const isNamed = (text) => text.split(name).slice(1).some((rest) => !/^[\w./-]*\w/.test(rest)); // shop-web is not shop-web-2
    return items.filter((other) => other.state === "next" && isNamed(other.why.split("; ")[0]));
  }

  // culprit is the sickest of what an object owns, and of those the deepest: the Pod of a
  // Deployment, not its ReplicaSet.
  function culprit(nodes, item) {
    const children = new Map();
    for (const node of nodes) {
      for (const parent of list(node.parentRefs)) {
        if (!children.has(parent.uid)) children.set(parent.uid, []);
        children.get(parent.uid).push(node);
      }
    }
    let best = null;
    const seen = new Set([item.uid]);
    const visit = (uid, depth) => {
      for (const node of children.get(uid) || []) {
        if (seen.has(node.uid)) continue;
        seen.add(node.uid);
        const health = (node.health && node.health.status) || "Healthy";
        const rank = health === "Healthy" ? 0 : depth + (health === "Degraded" ? 100 : 0);
        if (rank > (best ? best.rank : 0)) best = { node, rank };
        visit(node.uid, depth + 1);
      }
    };
    if (item.uid) visit(item.uid, 1);
    return best && best.node;
  }

  function nodeText(node) {
    const reason = list(node.info).find((info) => info.name === "Status Reason");
    return [reason && reason.value, node.health && node.health.message].filter(Boolean).join(": ");
  }

  // lastWarning is the newest event of type Warning.
  function lastWarning(events) {
    const when = (e) => Date.parse((e.series && e.series.lastObservedTime) || e.lastTimestamp || e.eventTime) || 0;
    const all = list(events).filter((e) => e.type === "Warning").sort((a, b) => when(b) - when(a));
    return all.length > 0 ? `${all[0].reason}: ${all[0].message}` : "";
  }

  // firstCondition is the condition of a live object that speaks of a failure, else one that is not met.
  function firstCondition(live) {
    const all = list(live && live.status && live.status.conditions).filter((c) => c.message || c.reason);
    const bad = all.find((c) => c.status === "True" && /fail|error|stalled|degraded/i.test(c.type)) || all.find((c) => c.status === "False" && !/fail|error|stalled|degraded|suspended/i.test(c.type));
    return bad ? `${bad.type} is ${bad.status}: ${bad.message || bad.reason}` : "";
  }

  const quote = (word) => (/^[\w.-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);
  const commandOf = (app) => `cmp why ${quote(app.metadata.name)} -n ${quote(app.metadata.namespace || "argocd")}`;

  // ---------------------------------------------------------------- requests, as the user

  function get(app, path, query, signal) {
    const url = new window.URL(`api/v1/applications/${encodeURIComponent(app.metadata.name)}/${path}`, document.baseURI); // --rootpath is in the base
    const all = [["appNamespace", app.metadata.namespace || ""], ["project", (app.spec && app.spec.project) || ""], ...query];
    for (const [key, value] of all) url.searchParams.append(key, value);
    return window.fetch(url.href, { signal }).then((answer) => {
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      return answer.json();
    });
  }

  // getTargets reads the annotations of what is synced. Manifests, which the repo-server
  // renders, have the hooks; they are asked for only while it matters what comes next.
  function getTargets(app, m, signal) {
    const fields = "items.group,items.kind,items.namespace,items.name,items.targetState";
    const managed = get(app, "managed-resources", [["fields", fields]], signal);
    const { revision, revisions } = m.result;
    const wanted = list(revisions).length > 0 ? revisions.flatMap((r, i) => [["sourcePositions", String(i + 1)], ["revisions", r]]) : [["revision", revision || ""]];
    const hooks = !m.phase || m.phase === "Succeeded" ? Promise.resolve({}) : get(app, "manifests", wanted, signal).catch((err) => ({ fault: `Hooks that do not exist yet could not be read: ${err.message}` }));
    const namespace = (app.spec && app.spec.destination && app.spec.destination.namespace) || "";
    return Promise.all([managed, hooks]).then(([a, b]) => ({ ...readTargets(a.items, b.manifests, namespace), fault: b.fault }));
  }

  // getEvidence looks for what an object that blocks says, or the Pod that it owns.
  function getEvidence(app, tree, item, signal) {
    const cause = culprit(list(tree && tree.nodes), item);
    const events = (o) => get(app, "events", [["resourceUID", o.uid], ["resourceNamespace", o.namespace || ""], ["resourceName", o.name]], signal).then((answer) => ({ of: nameOf(o), text: lastWarning(answer.items) }));
    const live = () => get(app, "resource", [["resourceName", item.name], ["namespace", item.namespace], ["version", item.version || ""], ["group", item.group], ["kind", item.kind]], signal)
      .then((answer) => ({ of: nameOf(item), text: firstCondition(JSON.parse(answer.manifest)) }));
    const asked = [cause && { of: nameOf(cause), text: nodeText(cause) }, cause && events(cause), item.uid && events(item), item.uid && live()];
    return Promise.all(asked.map((one) => Promise.resolve(one).catch((err) => (err.name === "AbortError" ? null : { of: nameOf(item), text: `could not be read: ${err.message}` }))))
      .then((all) => all.filter((one, i) => one && one.text && all.findIndex((other) => other && other.text === one.text) === i));
  }

  // ---------------------------------------------------------------- drawing

  const h = React.createElement;
  const TONES = { failed: "bad", awaited: "busy", done: "good", next: "idle" };
  const ICONS = { good: "fa-check-circle", busy: "fa-circle-notch", bad: "fa-times-circle", idle: "fa-clock" };
  const WORDS = { failed: "failed", awaited: "awaited", next: "not applied yet", applied: "applied", done: "done", unchanged: "unchanged", removed: "removed", kept: "not removed", "left out": "not part of this sync", "out of sync": "out of sync" };
  const PAGE = 200; // objects of a position that are drawn at once

  // Icon repeats what is said in words beside it.
  const Icon = ({ tone }) => h("i", { className: `fa ${ICONS[tone] || ICONS.idle} ladder-icon ladder-${tone || "idle"}`, "aria-hidden": true });

  function useNow(running) {
    const [now, setNow] = React.useState(Date.now());
    React.useEffect(() => {
      if (!running) return undefined;
      const timer = window.setInterval(() => setNow(Date.now()), 15000);
      return () => window.clearInterval(timer);
    }, [running]);
    return now;
  }

  // useAnswer asks when the keys change, and keeps the last answer until the next one is there.
  function useAnswer(ask, keys) {
    const [answer, setAnswer] = React.useState({ value: null, error: "" });
    React.useEffect(() => {
      const stop = new window.AbortController();
      ask(stop.signal).then((value) => setAnswer({ value, error: "" }), (err) => err.name !== "AbortError" && setAnswer({ value: null, error: err.message }));
      return () => stop.abort();
    }, keys);
    return answer;
  }

  function Panel({ application, openFlyout }) {
    const m = React.useMemo(() => model(application, null, null), [application]);
    const running = m.active || m.retry;
    const age = ageOf(m.startedAt, useNow(running));
    const { tone, text } = headline(m);
    return h("div", { className: "application-status-panel__item ladder-panel" },
      h("div", { className: "ladder-label" }, "LADDER"),
      h("button", { type: "button", onClick: openFlyout, title: "Show what the sync waits for" }, h(Icon, { tone }), " ", text, running && age ? `, ${age}` : ""));
  }

  function Copy({ text }) {
    const [said, setSaid] = React.useState("");
    const code = React.useRef(null);
    const select = () => {
      window.getSelection().selectAllChildren(code.current);
      return document.execCommand("copy");
    };
    const copy = () => {
      // Pages without TLS have no clipboard.
      const done = window.navigator.clipboard ? window.navigator.clipboard.writeText(text).then(() => true, select) : Promise.resolve(select());
      done.then((ok) => setSaid(ok ? "copied" : "selected; copy it with the keyboard"));
    };
    return h("p", { className: "ladder-copy" }, "More causes, from a terminal: ", h("code", { ref: code }, text), " ",
      h("button", { type: "button", onClick: copy, "aria-label": `Copy ${text}` }, "Copy"), " ", h("span", { role: "status" }, said));
  }

  function Blocker({ app, tree, item, m, tick }) {
    const { value: evidence } = useAnswer((signal) => getEvidence(app, tree, item, signal), [item.key, item.uid, tick]);
    const dependents = dependentsOf(item, m.items);
    const said = saidOf(item);
    return h("li", null, h("strong", null, item.kind, " ", item.namespace && `${item.namespace}/`, item.name), item.health && ` is ${item.health}`,
      said && h("div", { className: "ladder-text" }, cut(said)),
      (evidence || []).map((one) => h("div", { key: one.of + one.text, className: "ladder-text" }, h("b", null, one.of, ": "), cut(one.text))),
      item.why && h("div", { className: "ladder-why" }, `${placeOf(item)}, because it ${item.why}`),
      dependents.length > 0 && h("div", null, "Needed by: ", dependents.slice(0, 5).map(nameOf).join(", "), dependents.length > 5 && ` and ${dependents.length - 5} more`));
  }

  function Row({ item }) {
    const message = item.state === "failed" || item.state === "awaited" ? saidOf(item) : "";
    return h("li", { className: "ladder-row" }, h(Icon, { tone: TONES[item.state] }), " ", h("span", { className: "ladder-state" }, WORDS[item.state]), " ",
      h("span", { className: "ladder-name" }, item.kind, " ", item.namespace && `${item.namespace}/`, h("strong", null, item.name)),
      item.hook && " (hook)", item.health && h("span", { className: "ladder-health" }, " ", item.health),
      message && h("div", { className: "ladder-text" }, cut(message)), item.why && h("div", { className: "ladder-why" }, item.why));
  }

  const Position = React.memo(function Position({ position, open, toggle }) {
    const [shown, setShown] = React.useState(PAGE);
    const counts = Object.keys(WORDS).map((state) => [state, position.items.filter((item) => item.state === state).length]).filter(([, n]) => n > 0);
    const title = placeOf(position);
    return h("li", { className: `ladder-position ladder-at-${position.state}`, "aria-current": position.state === "awaited" ? "step" : undefined },
      h("h3", null, h("button", { type: "button", "aria-expanded": open, onClick: () => toggle(position.id, !open) },
        h("i", { className: `fa ${open ? "fa-caret-down" : "fa-caret-right"}`, "aria-hidden": true }), " ", h(Icon, { tone: TONES[position.state] }), " ",
        h("span", { className: "ladder-place" }, title[0].toUpperCase() + title.slice(1)), position.of > 1 && position.index > 0 && ` (${position.index} of ${position.of})`,
        h("span", { className: "ladder-counts" }, " ", counts.map(([state, n]) => `${n} ${WORDS[state]}`).join(", ")))),
      open && h("ul", null, position.items.slice(0, shown).map((item) => h(Row, { key: item.key, item }))),
      open && position.items.length > shown && h("button", { type: "button", className: "ladder-more", onClick: () => setShown(shown + 5 * PAGE) },
        `Show more of ${position.items.length - shown} other objects`));
  });

  function View({ application: app, tree }) {
    const operation = React.useMemo(() => readOperation(app), [app]);
    const revision = JSON.stringify([operation.phase, operation.result.revision, operation.result.revisions, app.status && app.status.sync && app.status.sync.revision]);
    const { value: targets, error } = useAnswer((signal) => getTargets(app, operation, signal), [app.metadata.name, app.metadata.namespace, revision]);
    const m = React.useMemo(() => model(app, tree, targets), [app, tree, targets]);
    const [opened, setOpened] = React.useState({});
    const toggle = React.useCallback((id, open) => setOpened((was) => ({ ...was, [id]: open })), []);
    const running = m.active || m.retry;
    const now = useNow(running);
    const { tone, text } = headline(m);
    const blockers = m.blockers.length > 0 ? m.blockers : m.sick;
    const isOpen = (p) => (p.id in opened ? opened[p.id] : p === m.current && tone !== "good");
    return h("section", { className: "ladder", "aria-label": "Ladder" },
      h("div", { role: "status" }, h("h2", null, h(Icon, { tone }), " ", text)),
      running && h("p", null, `The sync began ${ageOf(m.startedAt, now)} ago. `, m.next > 0 && `${count(m.next, "object")} not applied yet.`),
      m.message && h("p", { className: "ladder-text" }, h("b", null, "Argo CD: "), cut(m.message)),
      hints(app, m).map((hint, i) => h("p", { key: i, className: "ladder-text ladder-hint" }, cut(hint))),
      (error || (targets && targets.fault)) && h("p", { className: "ladder-hint", role: "alert" }, error ? `Reasons could not be read: ${error}` : targets.fault),
      blockers.length > 0 && h("div", { className: "ladder-blockers" }, h("h3", null, m.active ? "What is awaited" : m.sick.length > 0 ? "What is not healthy" : "What failed"),
        h("ul", null, blockers.slice(0, 3).map((item) => h(Blocker, { key: `${item.phase} ${item.key}`, app, tree, item, m, tick: Math.floor(now / 30000) })))),
      blockers.length > 0 && h(Copy, { text: commandOf(app) }),
      h("ol", { "aria-label": "Positions of the sync, from the first to the last" }, m.positions.map((position) => h(Position, { key: position.id, position, open: isOpen(position), toggle }))));
  }

  // guarded keeps a fault of this file from ending the page, which has no boundary of its own.
  function guarded(component) {
    return class extends React.Component {
      constructor(props) {
        super(props);
        this.state = { fault: "" };
      }

      static getDerivedStateFromError(err) {
        return { fault: String(err && err.message) };
      }

      render() {
        return this.state.fault ? h("div", { className: "application-status-panel__item" }, `Ladder cannot show this Application: ${this.state.fault}`) : h(component, this.props);
      }
    };
  }

  // Argo CD has no CSS variables: its theme is a class around the page.
  const STYLE = `
.ladder { padding: 16px 20px; background: #fff; color: #363c4a; font-size: 14px; line-height: 1.5; overflow-wrap: anywhere; }
.ladder h2 { font-size: 18px; font-weight: 600; margin: 0 0 8px; }
.ladder h3 { font-size: 14px; font-weight: 600; margin: 0; }
.ladder p { margin: 4px 0; }
.ladder ol, .ladder ul { list-style: none; margin: 8px 0; padding: 0; }
.ladder button, .ladder-panel button { font: inherit; color: inherit; background: none; border: 0; padding: 2px 4px; text-align: left; cursor: pointer; }
.ladder button:focus-visible, .ladder-panel button:focus-visible { outline: 2px solid #0b7fa3; outline-offset: 1px; }
.ladder-copy button, .ladder .ladder-more { border: 1px solid #6d7f8b; border-radius: 4px; padding: 2px 10px; }
.ladder code { padding: 1px 6px; background: #eef2f4; color: inherit; border-radius: 3px; }
.ladder-blockers, .ladder-position { border: 1px solid #ccd6dd; border-left: 4px solid #6d7f8b; border-radius: 4px; padding: 6px 10px; margin: 6px 0; }
.ladder-at-done { border-left-color: #18be94; }
.ladder-at-awaited { border-left-color: #0dadea; }
.ladder-at-failed { border-left-color: #e96d76; }
.ladder-position h3 button { width: 100%; }
.ladder-row, .ladder-blockers li { padding: 4px 0 4px 24px; }
.ladder-state { display: inline-block; min-width: 8em; }
.ladder-text { white-space: pre-wrap; }
.ladder-why, .ladder-counts, .ladder-state, .ladder-health { color: #495763; font-weight: 400; }
.ladder-hint { border-left: 4px solid #f4c030; padding-left: 8px; }
.ladder-icon.ladder-good { color: #18be94; }
.ladder-icon.ladder-busy { color: #0dadea; }
.ladder-icon.ladder-bad { color: #e96d76; }
.ladder-icon.ladder-idle { color: #6d7f8b; }
.ladder-label { font-size: 12px; font-weight: 600; margin-bottom: 6px; }
.ladder-panel button { font-size: 14px; max-width: 300px; overflow-wrap: anywhere; }
.theme-dark .ladder { background: #28282a; color: #e4e9ec; }
.theme-dark .ladder code { background: #3b3f44; }
.theme-dark .ladder-blockers, .theme-dark .ladder-position { border-color: #4d5357; border-left-color: #8fa4b1; }
.theme-dark .ladder-at-done { border-left-color: #18be94; }
.theme-dark .ladder-at-awaited { border-left-color: #0dadea; }
.theme-dark .ladder-at-failed { border-left-color: #e96d76; }
.theme-dark .ladder-why, .theme-dark .ladder-counts, .theme-dark .ladder-state, .theme-dark .ladder-health { color: #b6c3cb; }
.theme-dark .ladder button:focus-visible, .theme-dark .ladder-panel button:focus-visible { outline-color: #0dadea; }
`;

  const style = document.createElement("style");
  style.textContent = STYLE;
  document.head.appendChild(style);
  window.ladderExtension = { readTargets, model, headline, placeOf, hints, dependentsOf, culprit, lastWarning, firstCondition, ageOf, commandOf };
  api.registerStatusPanelExtension(guarded(Panel), "Ladder", "ladder", guarded(View));
  api.registerAppViewExtension(guarded(View), "Ladder", "fa-stream");
})();
