/** Opens stored logs, with a button or by drag and drop. */

import { h } from "../dom.js";
import { openLog } from "./log-file.js";

/**
 * @param {HTMLElement} dropZone
 * @param {import("../session.js").Session} session
 * @returns {HTMLElement} The button and the place for messages.
 */
export function logOpener(dropZone, session) {
  const message = h("p", { class: "insp-opened", role: "status" });
  const open = async (file) => {
    try {
      const events = await openLog(file);
      session.loadLog(events);
      message.textContent = `${file.name} is open. Its thread is not stored.`;
    } catch (error) {
      message.textContent = error.message;
      message.dataset.tone = "bad";
    }
  };
  session.addEventListener("log", () => {
    message.textContent = "";
    delete message.dataset.tone;
  });
  acceptDrops(dropZone, open);
  return h("div", { class: "insp-opener" }, ...picker(open), message);
}

function picker(open) {
  const input = h("input", { type: "file", class: "insp-offscreen", tabindex: "-1", "aria-hidden": "true", accept: ".sse,.jsonl,.ndjson,.json,.txt,.log" });
  input.addEventListener("change", () => {
    if (input.files?.[0]) open(input.files[0]);
    input.value = "";
  });
  return [h("button", { type: "button", class: "insp-button", onclick: () => input.click() }, "Open a log…"), input];
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
