/** Opens stored logs, with a button or by drag and drop; saves the log; and says that a log is shown. */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { counted } from "./events.js";
import { openLog, writeLog } from "./log-file.js";

export class LogActions {
  #session;
  #message;
  #save;

  /**
   * @param {HTMLElement} dropZone
   * @param {import("../session.js").Session} session
   * @param {(name: string) => void} onopen Called when a log is shown.
   */
  constructor(dropZone, session, onopen) {
    this.#session = session;
    this.#message = h("p", { class: "insp-message-line", role: "status" });
    this.#save = h("button", { type: "button", class: "insp-button", "aria-label": "Save the log", title: "Save the log as JSON lines", onclick: () => this.#saved() }, icon("save"), h("span", {}, "Save"));
    const open = (file) => this.#open(file, onopen);
    acceptDrops(dropZone, open);
    this.element = h("div", { class: "insp-actions" }, ...picker(open), this.#save);
    this.message = this.#message;
    session.addEventListener("log", () => this.#say(""));
    this.update();
  }

  /** Offers to save the log if there is one. */
  update() {
    this.#save.disabled = this.#session.log.length === 0;
  }

  async #open(file, onopen) {
    try {
      const events = await openLog(file);
      this.#session.loadLog(events);
      onopen(file.name);
    } catch (error) {
      this.#say(error.message, "bad");
    }
  }

  #saved() {
    const { log, isTimed } = this.#session;
    const name = fileName(this.#session.threadId);
    download(name, writeLog(log, { isTimed }));
    this.#say(`${counted(log.length, "event")} saved as ${name}.`);
  }

  #say(words, tone = "neutral") {
    this.#message.textContent = words;
    this.#message.dataset.tone = tone;
  }
}

/**
 * Creates the line above both halves of the page that tells that they show a log.
 *
 * @param {HTMLElement} views Both halves.
 * @param {import("../session.js").Session} session
 */
export function logBanner(views, session) {
  const words = h("p", { role: "status" });
  const leave = () => {
    session.closeLog();
    document.getElementById("composer-input")?.focus();
  };
  const button = h("button", { type: "button", class: "insp-button", onclick: leave }, "Back to the chat");
  const element = h("div", { class: "insp-banner", hidden: true }, words, button);
  const update = () => {
    element.hidden = !session.isReplay;
    views.toggleAttribute("data-log", session.isReplay);
    if (!session.isReplay) words.textContent = "";
  };
  session.addEventListener("log", update);
  views.prepend(element);
  return {
    /** @param {string} name */
    tell(name) {
      words.replaceChildren(h("strong", {}, "Read only"), ` · ${name} · ${counted(session.log.length, "event")}`);
    },
  };
}

function picker(open) {
  const input = h("input", { type: "file", class: "insp-offscreen", tabindex: "-1", "aria-hidden": "true", accept: ".sse,.jsonl,.ndjson,.json,.txt,.log" });
  input.addEventListener("change", () => {
    if (input.files?.[0]) open(input.files[0]);
    input.value = "";
  });
  const button = h("button", { type: "button", class: "insp-button", "aria-label": "Open a log", title: "Open a log: JSON lines, JSON or Server-Sent Events", onclick: () => input.click() }, icon("open"), h("span", {}, "Open"));
  return [button, input];
}

function acceptDrops(zone, open) {
  let depth = 0;
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    zone.toggleAttribute("data-drop", depth > 0);
  };
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  zone.addEventListener("dragenter", (event) => hasFiles(event) && mark(1));
  zone.addEventListener("dragleave", (event) => hasFiles(event) && mark(-1));
  zone.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  zone.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    mark(0);
    open(event.dataTransfer.files[0]);
  });
}

/** Returns a name that tells the thread and the minute. */
function fileName(threadId) {
  const thread = threadId.replaceAll(/[^\w-]+/g, "-").slice(0, 24) || "thread";
  const minute = new Date().toISOString().slice(0, 16).replaceAll(/[-:]/g, "");
  return `${thread}-${minute}.jsonl`;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
