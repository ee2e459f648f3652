/** The right side of the page: what the stream contains, what goes back, and how this gateway is set up. */

import { h } from "./dom.js";
import { counted } from "./inspector/events.js";
import { FindingsPanel } from "./inspector/findings-panel.js";
import { gatewayPanel } from "./inspector/gateway-panel.js";
import { HistoryPanel } from "./inspector/history-panel.js";
import { logOpener } from "./inspector/log-opener.js";
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
  const timeline = new TimelinePanel(() => session.log);
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
  const shows = (id) => () => {
    history.show(id === "history");
    request.show(id === "request");
    if (id === "events") timeline.draw();
  };
  const tabs = new Tabs("Inspector", [
    { id: "events", label: "Events", content: timeline.element, onshow: shows("events") },
    { id: "history", label: "History", content: history.element, onshow: shows("history") },
    { id: "request", label: "Request", content: request.element, onshow: shows("request") },
    { id: "check", label: "Check", content: findings.element, onshow: shows("check") },
    { id: "gateway", label: "Gateway", content: gatewayPanel(config), onshow: shows("gateway") },
  ]);
  const opener = logOpener(document.body, session);
  element.append(h("div", { class: "insp-head" }, h("h2", {}, "Inspector"), opener), tabs.element);
  listen(session, { timeline, history, request, findings });
}

function listen(session, { timeline, history, request, findings }) {
  const grow = perFrame(() => {
    timeline.update();
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
  });
  session.addEventListener("log", () => {
    timeline.reset();
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
