// Puts events through the compatibility stage of the official client, one stream per line on stdin, and answers with
// one line {events, warnings} each. The stage is started anew for each stream, as it is for each run of a client.

import { createInterface } from "node:readline";
import { format } from "node:util";
import { CompatibilityBoundary } from "ag-ui-client-1.0.0";
import { from, lastValueFrom, toArray } from "rxjs";

let warnings = [];
Object.assign(console, { warn: (...args) => warnings.push(format(...args)), error() {}, log() {}, info() {} });

for await (const line of createInterface({ input: process.stdin })) {
  warnings = [];
  const source = { run: () => from(JSON.parse(line)) };
  const events = await lastValueFrom(new CompatibilityBoundary().run({ messages: [] }, source).pipe(toArray()));
  process.stdout.write(`${JSON.stringify({ events, warnings })}\n`);
}
