import { h } from "./dom.js";

/** Mounts the header of the page. */
export function mountHeader(element, session, config) {
  element.append(h("h1", {}, "agui-reasoning"), h("code", {}, config.upstream.name));
}
