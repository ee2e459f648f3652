/** The header: the gateway, other gateways, and the buttons that concern the whole page. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

const THEME_KEY = "agui-reasoning:theme";
/** The themes in the order of the button; `auto` is that of the system. */
const THEMES = [
  { name: "auto", icon: "auto", label: "Theme: as the system" },
  { name: "light", icon: "sun", label: "Theme: light" },
  { name: "dark", icon: "moon", label: "Theme: dark" },
];

/**
 * Mounts the header.
 *
 * @param {HTMLElement} element
 * @param {import("./session.js").Session} session
 * @param {import("./config.js").Config} config
 */
export function mountHeader(element, session, config) {
  const fresh = h("button", { type: "button", class: "button", "aria-label": "New chat", onclick: () => startThread(session) }, icon("plus"), h("span", {}, "New chat"));
  element.replaceChildren(
    h("h1", { class: "brand" }, icon("spark"), "agui-reasoning"),
    config.links.length ? providerMenu(config) : h("code", { class: "upstream" }, config.upstream.name),
    h("span", { class: "spacer" }),
    viewSwitch(),
    fresh,
    themeButton(),
  );
}

function startThread(session) {
  session.reset();
  document.getElementById("composer-input")?.focus();
}

/** The gateways of other providers; the current one is marked. */
function providerMenu(config) {
  const here = new URL(".", document.baseURI).href;
  const link = ({ label, href }) => {
    const isHere = new URL(href, document.baseURI).href === here;
    return h("li", {}, h("a", { href, "aria-current": isHere ? "page" : null }, label));
  };
  const current = config.links.find(({ href }) => new URL(href, document.baseURI).href === here);
  const menu = h(
    "details", { class: "menu" },
    h("summary", {}, h("span", { class: "menu-label" }, "Provider"), shortened(current?.label ?? config.upstream.name), icon("chevron")),
    h("nav", { "aria-label": "Providers" }, ...groupsOf(config.links).flatMap(([group, links]) => [
      ...(group === null ? [] : [h("h2", {}, group)]),
      h("ul", {}, ...links.map(link)),
    ])),
  );
  menu.addEventListener("keydown", (pressed) => {
    if (pressed.key !== "Escape" || !menu.open) return;
    pressed.preventDefault();
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  menu.addEventListener("focusout", (left) => {
    if (left.relatedTarget instanceof Node && !menu.contains(left.relatedTarget)) menu.open = false;
  });
  addEventListener("pointerdown", (pressed) => {
    if (!menu.contains(/** @type {Node} */ (pressed.target))) menu.open = false;
  });
  return menu;
}

/** The name of a provider: on narrow screens, its first word is enough. */
function shortened(name) {
  const [first, ...rest] = name.split(" ");
  return h("span", { class: "menu-current" }, first, rest.length ? h("span", { class: "menu-rest" }, ` ${rest.join(" ")}`) : null);
}

/** @returns {[string | null, import("./config.js").Config["links"]][]} The links of each group, in order. */
function groupsOf(links) {
  const groups = new Map();
  for (const link of links) groups.set(link.group, [...(groups.get(link.group) ?? []), link]);
  return [...groups];
}

/** On narrow screens, shows either the chat or the inspector. */
function viewSwitch() {
  const views = document.getElementById("views");
  const buttons = ["chat", "inspector"].map((view) => h("button", { type: "button", dataset: { view }, onclick: () => show(view) }, view === "chat" ? "Chat" : "Inspector"));
  function show(view) {
    views?.setAttribute("data-view", view);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
  show("chat");
  return h("div", { class: "view-switch", role: "group", "aria-label": "View" }, ...buttons);
}

function themeButton() {
  const button = h("button", { type: "button", class: "button button-icon" });
  const chosen = () => THEMES.findIndex(({ name }) => name === (document.documentElement.dataset.theme ?? "auto"));
  function show(theme) {
    button.replaceChildren(icon(theme.icon));
    button.setAttribute("aria-label", theme.label);
    button.title = theme.label;
  }
  button.addEventListener("click", () => {
    const theme = THEMES[(chosen() + 1) % THEMES.length];
    if (theme.name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.name;
    remember(theme.name);
    show(theme);
  });
  show(THEMES[chosen()]);
  return button;
}

function remember(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // without storage, the choice lasts until the page is left
  }
}
