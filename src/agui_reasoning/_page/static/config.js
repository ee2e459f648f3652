/**
 * The settings of the gateway, as `_page/config.json` returns them. All addresses are relative to the page.
 *
 * @typedef {object} Config
 * @property {string} version The version of the package.
 * @property {string} endpoint The address of the AG-UI endpoint.
 * @property {string} capabilities The address of its capabilities.
 * @property {{connect: string, stop: string} | null} runs Where runs are joined and stopped that go on without the page.
 * @property {{name: string, api: string | null, provider: string | null, model: string | null, live: boolean}} upstream
 * @property {"full" | "summary" | "hidden"} visibility
 * @property {{effort: string[], display: string[]} | null} reasoningRequest What the user can choose; `null` for nothing.
 * @property {string[]} keyIds The IDs of the keys, the one that encrypts first; never a key.
 * @property {string[]} allowedOrigins
 * @property {{declaration: object, answer: string}[]} tools The tools that the page offers, with a sensible answer.
 * @property {string[]} questions Questions to suggest.
 * @property {{label: string, href: string, group: string | null}[]} links The pages of other gateways, those of a group together.
 * @property {Record<string, string>} inspector The addresses of the server parts of the inspector, if there are any.
 */

/**
 * Reads the settings of the gateway.
 *
 * @returns {Promise<Config>}
 */
export async function loadConfig() {
  const response = await fetch("_page/config.json", { cache: "no-cache" });
  if (!response.ok) throw new Error(`The gateway refuses its settings with status ${response.status}.`);
  return response.json();
}
