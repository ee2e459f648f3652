/** The right side of the page: what the stream contains, what goes back, and how this gateway is set up. */

import { h } from "./dom.js";
import { counted } from "./inspector/events.js";
import { FindingsPanel } from "./inspector/findings-panel.js";
import { gatewayPanel } from "./inspector/gateway-panel.js";
import { HistoryPanel } from "./inspector/history-panel.js";
import { LogActions, logBanner } from "./inspector/log-actions.js";
import { LossesSection } from "./inspector/losses.js";
import { RequestPanel } from "./inspector/request-panel.js";
import { Tabs } from "./inspector/tabs.js";
import { TimelinePanel } from "./inspector/timeline-panel.js";
import { perFrame } from "./inspector/widgets.js";

/**
 * Mounts the inspector, the right side of the page.
 *
 * @param {HTMLElement} element
 * @param {import("./session.js").Session} session
 * @param {import("./config.js").Config} config
 */
export function mountInspector(element, session, config) {
  const timeline = new TimelinePanel(session, config);
  const history = new HistoryPanel(session, config);
  const request = new RequestPanel(session, config);
  const findings = new FindingsPanel(session, config.inspector.check, {
    onfindings: (found) => {
      timeline.findings = found;
      tabs.setBadge("check", badgeOf(found));
    },
    onreveal: (index) => {
      tabs.select("events");
      timeline.reveal(index);
    },
  });
  const losses = new LossesSection(session, config.inspector.losses, (threads) => {
    tabs.setBadge("gateway", threads ? { text: String(threads), meaning: counted(threads, "lossy thread"), tone: "warn" } : null);
  });
  const shows = (id) => () => {
    history.show(id === "history");
    request.show(id === "request");
    if (id === "events") timeline.draw();
    if (id === "check") findings.show();
    if (id === "gateway") losses.show();
  };
  const tabs = new Tabs("Inspector", [
    { id: "events", label: "Events", content: timeline.element, onshow: shows("events") },
    { id: "history", label: "History", content: history.element, onshow: shows("history") },
    { id: "request", label: "Request", content: request.element, onshow: shows("request") },
    { id: "check", label: "Check", content: findings.element, onshow: shows("check") },
    { id: "gateway", label: "Gateway", content: gatewayPanel(config, losses.element, () => tabs.select("check", { moves: true })), onshow: shows("gateway") },
  ]);
  const banner = logBanner(/** @type {HTMLElement} */ (element.parentElement), session);
  const actions = new LogActions(document.body, session, (name) => banner.tell(name));
  tabs.bar.append(actions.element);
  tabs.bar.after(actions.message);
  element.append(h("h2", { class: "insp-offscreen" }, "Inspector"), tabs.element);
  listen(session, { timeline, history, request, findings, losses, actions });
  losses.show();
}

function listen(session, { timeline, history, request, findings, losses, actions }) {
  const grow = perFrame(() => {
    timeline.update();
    actions.update();
    findings.update();
  });
  session.addEventListener("event", grow);
  session.addEventListener("change", (event) => {
    history.changed(event.detail);
    if (event.detail === null) request.changed();
  });
  session.addEventListener("status", () => {
    grow();
    request.changed();
    losses.changed();
  });
  session.addEventListener("log", () => {
    timeline.reset();
    actions.update();
    findings.reset();
  });
  grow();
}

/** @param {import("./inspector/findings-panel.js").Finding[]} findings */
function badgeOf(findings) {
  if (findings.length === 0) return null;
  const isBroken = findings.some(({ severity }) => severity === "error");
  return { text: String(findings.length), meaning: counted(findings.length, "problem"), tone: isBroken ? "bad" : "warn" };
}
