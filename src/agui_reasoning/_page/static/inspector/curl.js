/**
 * Writes a request as a command of a POSIX shell. The key and the base URL are variables: neither is known here.
 *
 * @typedef {object} Call
 * @property {string} path The path and query after the base URL.
 * @property {Record<string, string>} headers
 * @property {{name: string, prefix: string}} key The header of the key, and what comes before the key.
 * @property {object} body
 */

/** Ends the body. JSON has no line like this: each of its lines begins with a space, a bracket or a brace. */
const END = "JSON";

/** @param {Call} call */
export function curlCommand({ path, headers, key, body }) {
  const options = [
    `curl -N "$BASE_URL"${quoted(path)}`,
    `-H "${key.name}: ${key.prefix}$API_KEY"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `--data-binary @- <<'${END}'`, // on standard input, where a long body is no argument that is too long
  ];
  return `${options.join(" \\\n  ")}\n${JSON.stringify(body, null, 2)}\n${END}\n`;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
