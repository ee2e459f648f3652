// Runs the client of the gateway's page, one job per line on stdin, one answer per line on stdout.
//
// A job is {reads, messages}: the network reads of a response, in base64, and the messages before it. The modules of the
// page are in the folder that the first argument names.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(`${process.argv[2]}/${name}`).href);
const [{ readEvents }, { Conversation }] = await Promise.all([load("sse.js"), load("conversation.js")]);

async function answer({ reads, messages }) {
  const conversation = new Conversation("t", { messages });
  const body = new ReadableStream({
    start(controller) {
      for (const read of reads) controller.enqueue(Uint8Array.from(Buffer.from(read, "base64")));
      controller.close();
    },
  });
  for await (const { event } of readEvents(new Response(body))) conversation.receive(event);
  return { messages: conversation.messages, state: conversation.state, pending: conversation.pendingToolCalls.map(({ id }) => id) };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
