// Reads an AG-UI stream with the official client. One job per line on stdin: {file, readBytes}.
// Each answer is one line: {ms, chars}, where ms is the smaller of elapsed and CPU time.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.argv[2] + "/"));
const { HttpAgent } = await import(pathToFileURL(require.resolve("ag-ui-client-1.0.0")));

function bodyOf(data, size) {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= data.length) return controller.close();
      controller.enqueue(data.subarray(start, start + size));
      start += size;
    },
  });
}

async function consume({ file, readBytes }) {
  const data = new Uint8Array(readFileSync(file));
  const agent = new HttpAgent({ url: "http://localhost/", threadId: "thread-1" });
  const headers = { "content-type": "text/event-stream" };
  agent.fetch = async () => new Response(bodyOf(data, readBytes), { status: 200, headers });
  const cpu = process.cpuUsage();
  const start = performance.now();
  await agent.runAgent({ runId: "run-1" });
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const chars = agent.messages.reduce((sum, message) => sum + message.content.length, 0);
  return { ms: Math.min(elapsed, (user + system) / 1000), chars };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await consume(JSON.parse(line)))}\n`);
}
