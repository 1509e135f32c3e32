// A client as merchants of the incumbent engine run it: Node's standard library, a public key id, a secret that never
// travels, and one signature per request over timestamp|METHOD|path|sha256(body). It knows nothing of Causeway but the base
// address. Its quirks are the incumbent's and are kept on purpose: a request without a body hashes "{}", and the path is
// signed without its query.
//
//   node client.mjs <base> <public key> <secret> < script.json
//
// The script is a list of {method, path, body?, idempotencyKey?, signQuery?, repeat?, tamper?}; the output is a list of
// {status, headers, body} in the same order. repeat sends the very same bytes again; tamper changes the body after signing.
import { createHash, createHmac } from 'node:crypto';
import { request as http } from 'node:http';
import { request as https } from 'node:https';
import { text } from 'node:stream/consumers';

const [base, publicKey, secret] = process.argv.slice(2);
const signingKey = createHash('sha256').update(secret).digest('hex');

function sign(method, path, body, signQuery) {
  const timestamp = Date.now().toString();
  const signed = signQuery ? path : path.split('?')[0];
  const hash = createHash('sha256').update(body ?? '{}').digest('hex');
  const signature = createHmac('sha256', signingKey).update(`${timestamp}|${method}|${signed}|${hash}`).digest('hex');
  return { 'X-API-Key': publicKey, 'X-Timestamp': timestamp, 'X-Signature': signature };
}

function send(method, path, headers, body) {
  const url = new URL(path, base);
  return new Promise((resolve, reject) => {
    const call = (url.protocol === 'https:' ? https : http)(url, { method, headers }, async (response) => {
      const raw = await text(response);
      resolve({ status: response.statusCode, headers: response.headers, body: raw === '' ? null : JSON.parse(raw) });
    });
    call.on('error', reject);
    call.setTimeout(60_000, () => call.destroy(new Error(`${method} ${path} took too long`)));
    call.end(body);
  });
}

const answers = [];
let last = {};
for (const step of JSON.parse(await text(process.stdin))) {
  const path = step.path.replaceAll('{last}', last.reference ?? '');
  const body = step.body === undefined ? undefined : JSON.stringify(step.body);
  const headers = sign(step.method, path, body, step.signQuery);
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (step.idempotencyKey) headers['Idempotency-Key'] = step.idempotencyKey;
  for (let times = step.repeat ?? 1; times > 0; times--) {
    const answer = await send(step.method, path, headers, step.tamper ? body + ' ' : body);
    if (answer.body?.payment?.reference) last = answer.body.payment;
    answers.push(answer);
  }
}
process.stdout.write(JSON.stringify(answers));
