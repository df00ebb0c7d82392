// Shows the state of the dev server, and calls /_dev for the switches.
//
// What the server sends, such as the name of a connector, becomes text nodes only and is never parsed as markup. It
// never becomes a URL, a class or a style either.
"use strict";

const POLL_EVERY = 1000; // milliseconds
const TIMEOUT = 10000; // milliseconds

const GOOD = new Set(["Deployed", "Published"]);
const BAD = new Set(["Failed", "UndeployFailed"]);
const IDLE = new Set(["Draft"]);

/** Keys of the <details> that are open, such as `ID/logs`: rows are built again when they change. */
const opened = new Set();
/** The lines of each log that was read, by deployment. */
const logs = new Map();
/** Status of each deployment and staged connector at the last poll, by id. */
let statuses;
let control = false;

const byId = (id) => document.getElementById(id);

/** Makes an element. Functions become event listeners; strings among the children become text. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Isolates text of the server, whose direction may be right to left. */
const text = (value) => element("bdi", {}, String(value));
const cell = (...children) => element("td", {}, ...children);
const short = (...children) => element("td", { class: "short" }, ...children);

function setText(id, value) {
  // Screen readers announce a change, so nothing is written without one.
  if (byId(id).textContent !== value) byId(id).textContent = value;
}

function time(at) {
  const date = new Date(at);
  const shown = Number.isNaN(date.valueOf()) ? String(at) : date.toLocaleTimeString("en-GB");
  return element("time", { datetime: at, title: at }, shown);
}

function status(value) {
  const kind = GOOD.has(value) ? "good" : BAD.has(value) ? "bad" : IDLE.has(value) ? "idle" : "busy";
  return element("span", { class: `status ${kind}` }, text(value));
}

function withVersion(key, version) {
  return [text(key), ` version ${version}`];
}

// Rows

/** Makes <details> that stay open when their row is built again. */
function details(key, kind, title, children, whenOpened = () => {}) {
  const toggled = (event) => {
    if (event.target.open) opened.add(key);
    else opened.delete(key);
    if (event.target.open) whenOpened();
  };
  const summary = element("summary", { "data-focus": key }, title);
  const made = element("details", { class: kind, "data-key": key }, summary, ...children);
  made.open = opened.has(key);
  made.addEventListener("toggle", toggled);
  return made;
}

function report(key, title, entries) {
  if (entries.length === 0) return [];
  const items = entries.map((entry) => {
    const about = entry.application ? [" ", text(entry.application)] : [];
    const message = entry.message ? [": ", text(entry.message)] : [];
    return element("li", {}, text(entry.type), ...about, " – ", text(entry.title), ...message);
  });
  return [details(key, "report", `${title} (${entries.length})`, [element("ul", {}, ...items)])];
}

function logLine(line) {
  const { message, requestMethod, requestUrl, status: answered } = line.details ?? {};
  const content = message ?? `${requestMethod} ${requestUrl} ${answered}`;
  const from = [text(line.applicationName), " ", text(line.severity)];
  return element("li", {}, time(line.timestamp), " ", ...from, " ", text(content));
}

function logList(id) {
  const lines = logs.get(id) ?? [];
  return lines.length === 0 ? [element("li", {}, "No entries.")] : lines.map(logLine);
}

async function readLogs(id) {
  const answer = await fetch(`_console/logs/${encodeURIComponent(id)}`, { signal: AbortSignal.timeout(TIMEOUT) });
  if (!answer.ok) return;
  const { lines } = await answer.json();
  if (JSON.stringify(lines) === JSON.stringify(logs.get(id))) return;
  logs.set(id, lines);
  const row = [...document.querySelectorAll("details.logs")].find((each) => each.dataset.key === `${id}/logs`);
  row?.querySelector("ul").replaceChildren(...logList(id));
}

/** Makes a button that changes one object. */
function button(key, named, label, path, body) {
  const click = () => change("POST", path, body, `${label}: ${named}`);
  const attributes = { type: "button", "data-focus": `${key}/${label}`, "aria-label": `${label}: ${named}`, click };
  return element("button", attributes, label);
}

/** Makes the buttons of one object: [label, path below /_dev, body]. */
function outcomes(id, named, choices) {
  if (!control) return [];
  const buttons = choices.map((choice) => button(id, named, ...choice));
  return [details(`${id}/outcomes`, "outcomes", "Outcomes", [element("p", { class: "buttons" }, ...buttons)])];
}

const failure = (title) => ({ fails: true, entries: [{ type: "Error", title, message: "Planned in the console." }] });

/** Makes a group of rows: that of the object, and one across the table with what can be opened. */
function group(cells, columns, more) {
  const rows = [element("tr", {}, ...cells)];
  if (more.length > 0) rows.push(element("tr", { class: "detail" }, element("td", { colspan: columns }, ...more)));
  return element("tbody", {}, ...rows);
}

function deployment(one) {
  const path = `deployments/${encodeURIComponent(one.id)}`;
  const named = one.key ?? one.id;
  const addresses = one.applications.map((application) =>
    element("li", {}, text(application.name), ": ", application.address ? text(application.address) : "no address"));
  const ofLog = { tabindex: "0", "data-focus": `${one.id}/log`, "aria-label": `Log of ${named}` };
  const log = element("ul", ofLog, ...logList(one.id));
  const connector = withVersion(one.connector.key ?? one.connector.name, one.connector.version);
  return group([
    cell(text(one.project)), cell(text(named)), short(status(one.status)), short(time(one.changedAt)),
    short(String(one.version)), cell(...connector), short(text(one.type)), short(text(one.region)),
  ], 8, [
    ...report(`${one.id}/report`, "Report", one.report),
    details(`${one.id}/applications`, "applications", `Applications (${one.applications.length})`,
      [element("ul", {}, ...addresses)]),
    details(`${one.id}/logs`, "logs", "Log", [log], () => readLogs(one.id).catch(unreachable)),
    ...outcomes(one.id, named, [
      ["Fail the build", path, { action: "planOutcome", outcome: failure("Application build failed") }],
      ["Finish now", path, { action: "finish" }],
      ["Fail undeploying", path, { action: "failUndeploy" }],
      ["Redeploy as another client", path, { action: "redeploy" }],
      ["Remove", path, { action: "remove" }],
    ]),
  ]);
}

function stagedConnector(one) {
  const path = `staged/${encodeURIComponent(one.id)}`;
  const named = one.key ?? one.name;
  const plan = (step, title) => ({ action: "plan", outcomes: { [step]: failure(title) } });
  const comments = one.comments.map((comment) => element("li", {}, text(comment.userId), ": ", text(comment.comment)));
  return group([
    cell(text(one.key ?? one.id)), cell(text(one.name)), short(status(one.status)), short(text(one.isPreviewable)),
    short(String(one.version)), cell(text(one.tag)),
  ], 6, [
    ...report(`${one.id}/preview`, "Report of the preview", one.previewReport),
    ...report(`${one.id}/publishing`, "Report of publishing", one.publishingReport),
    ...(comments.length === 0 ? [] : [
      details(`${one.id}/comments`, "comments", `Comments (${comments.length})`, [element("ul", {}, ...comments)]),
    ]),
    ...outcomes(one.id, named, [
      ["Fail the preview", path, plan("preview", "The preview was refused")],
      ["Fail publishing", path, plan("publishing", "Publishing failed")],
      ["Fail certification", path, plan("certification", "Certification was refused")],
      ["Finish now", path, { action: "finish" }],
      ["Remove", path, { action: "remove" }],
    ]),
  ]);
}

function connector(one) {
  const properties = [one.private ? "private" : "public", ...(one.certified ? ["certified"] : [])];
  const path = `connectors/${encodeURIComponent(one.key)}/versions`;
  const more = control && one.key ? [" ", button(one.id, one.key, "Add a version", path, {})] : [];
  return group([
    cell(text(one.key ?? one.id)), cell(text(one.name)), short(String(one.version), ...more),
    cell(text(one.applications.join(", "))), short(properties.join(", ")),
  ], 5, []);
}

function fault(one) {
  const answer = Object.entries(one.answer).filter(([, value]) => value && JSON.stringify(value) !== "{}");
  const calls = [one.operation ?? "all"];
  if (one.path) calls.push(`with ${one.path}`);
  if (one.skip) calls.push(`after ${one.skip}`);
  const left = [one.count ?? "all", ...(one.share ? [`a share of ${one.share}`] : [])];
  return group([
    cell(text(calls.join(", "))), cell(text(JSON.stringify(Object.fromEntries(answer)).slice(0, 300))),
    cell(one.effect === "after" ? "happens nevertheless" : "does not happen"), short(left.join(", ")),
  ], 4, []);
}

function call(one) {
  const failed = one.status === 0 || one.status >= 400;
  const shown = one.status === 0 ? "closed" : String(one.status);
  const answered = element("span", { class: failed ? "status bad" : "status" }, shown);
  return element("tr", {}, short(time(one.at)), short(text(one.method)), cell(text(one.path)), short(answered),
    short(`${one.durationMs} ms`), short(text(one.operation)), cell(text(one.correlationId)));
}

// Rendering

/** Puts a group of rows for each item into a table. Those whose item did not change stay, with their focus. */
function table(id, { items, total }, keyOf, build) {
  setText(`${id}-count`, total > items.length ? `${items.length} of ${total}` : String(total));
  byId(`${id}-empty`).hidden = total > 0;
  byId(id).hidden = total === 0;
  const old = [...byId(id).tBodies];
  const wanted = items.map((item, at) => {
    const content = JSON.stringify([control, item]);
    const kept = old.find((body) => body.dataset.key === keyOf(item, at) && body.content === content);
    if (kept) return kept;
    const made = build(item);
    made.dataset.key = keyOf(item, at);
    made.content = content;
    return made;
  });
  if (wanted.length === old.length && wanted.every((body, at) => body === old[at])) return;
  const focused = document.activeElement?.dataset.focus;
  byId(id).replaceChildren(byId(id).tHead, ...wanted);
  if (focused) [...document.querySelectorAll("[data-focus]")].find((each) => each.dataset.focus === focused)?.focus();
}

function calls(list) {
  const content = JSON.stringify(list);
  if (byId("calls").content === content) return;
  byId("calls").content = content;
  byId("calls").replaceChildren(...list.map(call));
}

/** Announces each status that changed since the last poll to screen readers. */
function announce(state) {
  const now = new Map();
  const changes = [];
  for (const one of [...state.deployments.items, ...state.staged.items]) {
    now.set(one.id, one.status);
    if (!statuses || statuses.get(one.id) === one.status) continue;
    changes.push(`${one.key ?? one.name ?? one.id}: ${one.status}`);
  }
  if (changes.length > 0) byId("changes").textContent = changes.slice(0, 5).join(", ");
  statuses = now;
}

function show(state) {
  control = state.control;
  byId("now").textContent = new Date(state.now).toLocaleTimeString("en-GB");
  byId("switches").hidden = !control;
  byId("read-only").hidden = control;
  const operations = byId("new-fault").elements.operation;
  if (operations.length === 1) operations.append(...state.operations.map((name) => element("option", {}, name)));
  const idOf = (one) => one.id;
  table("deployments", state.deployments, idOf, deployment);
  table("staged", state.staged, idOf, stagedConnector);
  table("connectors", state.connectors, idOf, connector);
  table("faults", { items: state.faults, total: state.faults.length }, (_, at) => String(at), fault);
  calls(state.calls);
  announce(state);
}

// Polling

function unreachable() {
  setText("connection", "The dev server does not answer. Trying again.");
}

async function refresh() {
  let state;
  try {
    const answer = await fetch("_console/state", { signal: AbortSignal.timeout(TIMEOUT) });
    if (!answer.ok) throw new Error(`HTTP status ${answer.status}`);
    state = await answer.json();
  } catch {
    return unreachable();
  }
  show(state);
  setText("connection", "Connected");
  const open = [...opened].filter((key) => key.endsWith("/logs")).map((key) => key.slice(0, -"/logs".length));
  await Promise.all(open.filter((id) => statuses.has(id)).map(readLogs)).catch(unreachable);
}

async function poll() {
  try {
    await refresh();
  } finally {
    setTimeout(poll, POLL_EVERY);
  }
}

// Switches

/** Calls /_dev, reports the result, and shows the new state. */
async function change(method, path, body, what) {
  try {
    const answer = await fetch(`_dev/${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const refusal = answer.ok ? undefined : await answer.json();
    setText("result", answer.ok ? `Done: ${what}.` : `Refused: ${what}. ${refusal.message}`);
  } catch {
    setText("result", `Not done: ${what}. The dev server does not answer.`);
  }
  await refresh();
}

byId("new-fault").addEventListener("submit", (event) => {
  event.preventDefault();
  const { operation, answer, effect, count } = event.target.elements;
  const added = { effect: effect.value, answer: JSON.parse(answer.value) };
  if (operation.value) added.operation = operation.value;
  if (count.value) added.count = Number(count.value);
  change("POST", "faults", added, "the fault was added");
});
byId("clear-faults").addEventListener("click", () => change("DELETE", "faults", undefined, "all faults were removed"));
byId("revoke-tokens").addEventListener("click", () => change("DELETE", "tokens", undefined, "all tokens were revoked"));
byId("reset").addEventListener("click", () => change("POST", "reset", undefined, "the initial state was restored"));

poll();
