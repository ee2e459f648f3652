/** Lets the browser draw and answer the user in the middle of long work. */

/** How long the page works at a stretch, in milliseconds: less than a frame. */
const STRETCH_MS = 12;

/** Returns a function that pauses if the work since its last pause, or since the last `begin`, was long. */
export function pauser(now = () => performance.now()) {
  let since = now();
  return {
    begin() {
      since = now();
    },
    /** @returns {Promise<void> | null} What to wait for; `null` if there is time left. */
    due() {
      return now() - since < STRETCH_MS ? null : nextTask().then(() => this.begin());
    },
  };
}

/** Resolves in a task of its own. Unlike timers, these are not slowed down in tabs that are hidden. */
function nextTask() {
  if (globalThis.scheduler?.yield) return globalThis.scheduler.yield();
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
