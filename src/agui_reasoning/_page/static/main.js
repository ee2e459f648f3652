/** Starts the page. */

import { mountChat } from "./chat.js";
import { loadConfig } from "./config.js";
import { mountHeader } from "./header.js";
import { mountInspector } from "./inspector.js";
import { OtherTabs } from "./other-tabs.js";
import { Session } from "./session.js";

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

try {
  const config = await loadConfig();
  const session = new Session(config, { tabs: new OtherTabs() });
  addEventListener("pagehide", () => session.save());
  mountHeader(element("header"), session, config);
  mountChat(element("chat"), session, config);
  mountInspector(element("inspector"), session, config);
  session.resume();
} catch (error) {
  element("chat").textContent = `The page cannot start: ${error.message}`;
  throw error;
}
