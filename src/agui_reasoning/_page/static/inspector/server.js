/** Asks the server parts of the inspector, which answer only this machine, and most only for replayed responses. */

/** A sentence for people about why there is no answer. */
export class InspectorError extends Error {
  name = "InspectorError";
}

/**
 * @param {string} address
 * @param {string} body JSON.
 * @returns {Promise<any>}
 * @throws {InspectorError}
 */
export async function ask(address, body) {
  let response;
  try {
    response = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body, cache: "no-store" });
  } catch {
    throw new InspectorError("The gateway cannot be reached.");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  throw new InspectorError(answer?.error?.message ?? `The gateway answered with status ${response.status}.`);
}
