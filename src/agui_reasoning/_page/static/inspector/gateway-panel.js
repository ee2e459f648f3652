/** The tab of the gateway: its settings, its addresses, and how to use it from an application. */

import { h } from "../dom.js";
import { copyButton, note } from "./widgets.js";

const VISIBILITY = {
  full: "The stream contains the reasoning.",
  summary: "The stream contains summaries of the reasoning.",
  hidden: "The stream contains no reasoning.",
};

/**
 * @param {import("../config.js").Config} config
 * @param {HTMLElement} losses What did not come back from front ends.
 * @param {() => void} onrules Shows what is checked.
 */
export function gatewayPanel(config, losses, onrules) {
  const endpoint = new URL(config.endpoint, document.baseURI).href;
  return h(
    "div",
    { class: "insp-gateway" },
    losses,
    h("dl", { class: "insp-facts" }, ...factsOf(config, endpoint)),
    h("h3", {}, "Use it from an application"),
    snippet(agentLines(endpoint)),
    note(
      "Install the client with ", code("npm install @ag-ui/client"), ", and add messages with ", code("agent.addMessage"),
      ". Pages of other origins need ", code("--allow-origin"), ".",
    ),
    h("h3", {}, "More"),
    h(
      "ul",
      { class: "insp-list-plain" },
      h("li", {}, h("a", { href: config.capabilities }, "Capabilities of this gateway"), ", as JSON"),
      h("li", {}, link("What is checked in streams", onrules), ", with a page for each rule"),
    ),
  );
}

/**
 * Returns the lines that point an `HttpAgent` to an endpoint.
 *
 * @param {string} endpoint
 */
export function agentLines(endpoint) {
  return [
    'import { HttpAgent } from "@ag-ui/client";',
    `const agent = new HttpAgent({ url: ${JSON.stringify(endpoint)} });`,
    "await agent.runAgent({}, { onEvent: ({ event }) => console.log(event) });",
  ].join("\n");
}

function factsOf(config, endpoint) {
  const { name, api, provider, model } = config.upstream;
  const origins = config.allowedOrigins.length ? config.allowedOrigins : ["this page only"];
  return [
    ...fact("Endpoint", code(endpoint)),
    ...fact("Upstream", code(name), config.upstream.live ? ", a model" : ", which replays responses"),
    ...fact("Model", [provider, api, model].filter(Boolean).join(" · ") || "unknown"),
    ...fact("Visibility", code(config.visibility), `: ${VISIBILITY[config.visibility] ?? ""}`),
    ...fact("Key IDs", ...keyWords(config.keyIds)),
    ...fact("Allowed origins", origins.join(", ")),
    ...fact("Version", config.version),
  ];
}

function keyWords(ids) {
  if (ids.length === 0) return ["none: values are readable"];
  return ids.flatMap((id, index) => [index ? ", " : "", code(id), index ? "" : " (encrypts)"]);
}

function fact(name, ...value) {
  return [h("dt", {}, name), h("dd", {}, ...value)];
}

function link(words, onclick) {
  return h("button", { type: "button", class: "insp-link", onclick }, words);
}

function code(text) {
  return h("code", {}, text);
}

function snippet(text) {
  const lines = h("pre", { class: "insp-text insp-unbroken", tabindex: "0", "aria-label": "Three lines of JavaScript" }, h("code", {}, text));
  return h("div", { class: "insp-snippet" }, lines, copyButton("Copy", () => text));
}
