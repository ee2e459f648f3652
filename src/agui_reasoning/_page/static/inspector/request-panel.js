/** The tab of the request: what the history becomes at the provider, with the provider's own values marked. */

import { h } from "../dom.js";
import { curlCommand } from "./curl.js";
import { counted } from "./events.js";
import { nextInput } from "./history-panel.js";
import { jsonView } from "./json-view.js";
import { ask } from "./server.js";
import { sizeText } from "./values.js";
import { chip, copyButton, note, prose } from "./widgets.js";

const ABSENT = {
  live: "The preview exists only if the gateway replays responses, because a request contains decrypted reasoning. "
    + "Use `agui-reasoning request` where the keys are.",
  other: "This gateway does not offer the preview.",
};

/** What a comparison with the provider's response says. */
const STATES = new Map([
  [true, { text: "unchanged", tone: "good" }],
  [false, { text: "not from this gateway", tone: "warn" }],
  [null, { text: "", tone: "neutral" }],
]);

const OUTCOMES = { echoed: "good", placeholder: "warn", dropped: "warn" };

const FOR_CURL = "The command reads the key from API_KEY, and from BASE_URL what comes before the path of the API: "
  + "the same as `--base-url` of `agui-reasoning serve`.";

export class RequestPanel {
  #session;
  #config;
  #address;
  #isShown = false;
  #isStale = true;
  #asked = 0;

  /**
   * @param {import("../session.js").Session} session
   * @param {import("../config.js").Config} config
   */
  constructor(session, config) {
    this.#session = session;
    this.#config = config;
    this.#address = config.inspector.request;
    this.element = h("div", { class: "insp-request" });
    if (!this.#address) this.element.append(note(config.upstream.live ? ABSENT.live : ABSENT.other));
  }

  show(isShown) {
    this.#isShown = isShown;
    this.#refresh();
  }

  changed() {
    this.#isStale = true;
    this.#refresh();
  }

  async #refresh() {
    if (!this.#address || !this.#isShown || !this.#isStale || this.#session.isRunning) return;
    this.#isStale = false;
    this.#asked += 1;
    const asked = this.#asked;
    const input = nextInput(this.#session, this.#config);
    if (input.messages.length === 0) {
      this.element.replaceChildren(note("The thread is empty. The request that it becomes appears here."));
      return;
    }
    const content = await ask(this.#address, JSON.stringify(input)).then(contentOf, (error) => [note(error.message)]);
    if (asked === this.#asked) this.element.replaceChildren(...content);
  }
}

function contentOf(report) {
  const marks = new Map(report.values.map((value) => [value.path, markOf(value)]));
  return [
    h("h3", { class: "insp-first" }, "The next request, not sent yet"),
    h("p", { class: "insp-chips" }, ...[report.api, report.provider, report.model].filter(Boolean).map((name) => chip(name))),
    note(sentenceOf(report.values)),
    ...outcomesOf(report.outcomes),
    h("h3", {}, "Request body"),
    h(
      "div", { class: "insp-copies" },
      copyButton("Copy the body", () => JSON.stringify(report.body, null, 2)),
      report.http ? copyButton("Copy as curl", () => curlCommand(report.http)) : null,
    ),
    report.http ? note(...prose(FOR_CURL)) : null,
    jsonView(report.body, marks),
  ].filter(Boolean);
}

/** @returns {import("./json-view.js").Mark} */
function markOf({ kind, bytes, unchanged }) {
  const { text, tone } = STATES.get(unchanged) ?? STATES.get(null);
  return { label: [kind, sizeText(bytes), text].filter(Boolean).join(" · "), tone };
}

/** Counts what was compared: a call ID that the provider cannot read is replaced, which is no fault. */
function sentenceOf(values) {
  const compared = values.filter((value) => value.unchanged !== null);
  if (compared.length === 0) return "The request contains no value that the provider requires back.";
  const unchanged = compared.filter((value) => value.unchanged).length;
  return `${unchanged} of ${counted(compared.length, "value")} that the provider requires back came back unchanged, byte for byte.`;
}

function outcomesOf(outcomes) {
  if (outcomes.length === 0) return [];
  const lines = outcomes.map(({ outcome, intended, sentence }) => h(
    "li", { dataset: { tone: intended ? "neutral" : OUTCOMES[outcome] } },
    ...(intended ? [chip("as intended"), " "] : []), sentence,
  ));
  return [h("h3", {}, "What happens to the reasoning"), h("ul", { class: "insp-outcomes" }, ...lines)];
}
