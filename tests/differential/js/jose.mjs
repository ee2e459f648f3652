// Opens and makes tokens with npm's `jose`: one JSON array of jobs on stdin, one JSON array of answers on stdout.
//
// A job is {do: "open", token, key} or {do: "make", plaintext, header, key}; keys and plaintexts are base64url.
// An answer is {plaintext, header}, {token}, or {error}.

import { text } from "node:stream/consumers";

import { base64url, CompactEncrypt, compactDecrypt } from "jose";

const actions = {
  async open({ token, key }) {
    const { plaintext, protectedHeader } = await compactDecrypt(token, base64url.decode(key));
    return { plaintext: base64url.encode(plaintext), header: protectedHeader };
  },
  async make({ plaintext, header, key }) {
    const unsealed = new CompactEncrypt(base64url.decode(plaintext)).setProtectedHeader(header);
    return { token: await unsealed.encrypt(base64url.decode(key)) };
  },
};

const run = (job) => actions[job.do](job).catch((error) => ({ error: error.code }));
const jobs = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(await Promise.all(jobs.map(run))));
