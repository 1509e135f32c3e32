// The client against a server on this machine that fails in every way that a network has.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

import { ApiError, Causeway, CausewayError, ConnectionError, Decimal, requestSignature } from '../dist/index.js';
import { readFileSync } from 'node:fs';

const [secret, live, publicKey] = JSON.parse(readFileSync(new URL('../../testdata/vectors.json', import.meta.url), 'utf8')).keys.map(({ key }) => key);

/** Starts a server that gives the answers in turn, the last one again and again, and keeps the requests. */
async function serve(t, ...answers) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    requests.push({ method: request.method, url: request.url, headers: request.headers, body });
    answers[Math.min(requests.length, answers.length) - 1](response, requests.at(-1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${server.address().port}`;
  return { requests, base, client: (options) => new Causeway({ baseUrl: base, apiKey: secret, ...options }) };
}

const json = (status, body, headers = {}) => (response) => response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
const refusal = (status, code, headers) =>
  json(status, JSON.stringify({ success: false, message: 'No.', error: { code, message: 'No.', requestId: 'req_1', fields: [{ field: 'type', message: 'is required' }] } }), headers);
const payment = json(200, '{"success":true,"payment":{"reference":"CW-1","fiatAmount":1234567.89,"cryptoAmount":0.000000000000000001,"confirmations":2}}');
const drop = (response) => response.socket.destroy();
const cut = (response) => response.writeHead(200, { 'Content-Length': '100' }).write('{"success":', () => response.socket.destroy());
const hang = () => {};

test('a request and its answer', async (t) => {
  const s = await serve(t, payment);
  const { payment: got } = await s.client({ userAgent: 'shop/2' }).createPayment({ type: 'gift', fiatCurrency: 'NGN', fiatAmount: new Decimal('1234567.89'), crypto: 'USDT' });
  assert.equal(String(got.fiatAmount), '1234567.89');
  assert.equal(String(got.cryptoAmount), '0.000000000000000001');
  assert.equal(got.confirmations, 2);
  const [{ method, url, headers, body }] = s.requests;
  assert.equal(`${method} ${url} ${body}`, 'POST /v1/payments {"type":"gift","fiatCurrency":"NGN","fiatAmount":1234567.89,"crypto":"USDT"}');
  assert.equal(headers.authorization, `Bearer ${secret}`);
  assert.equal(headers['content-type'], 'application/json');
  assert.match(headers['user-agent'], /^causeway-sdk-typescript\/\d+\.\d+\.\d+ node\/\S+ shop\/2$/);
  assert.match(headers['idempotency-key'], /^[0-9a-f-]{36}$/);
});

test('names in paths and queries are escaped', async (t) => {
  const s = await serve(t, payment);
  await s.client().getPayment('a/../b?c#d');
  await s.client().listPayments({ status: 'settled', from: '2026-04-01T00:00:00+01:00', cursor: undefined });
  await s.client().listPayments({ status: ['settled', 'expired'] });
  assert.deepEqual(s.requests.map(({ url }) => url), ['/v1/payments/a%2F..%2Fb%3Fc%23d', '/v1/payments?status=settled&from=2026-04-01T00%3A00%3A00%2B01%3A00', '/v1/payments?status=settled%2Cexpired']);
  assert.equal(s.requests[0].headers['idempotency-key'], undefined);
  for (const name of ['', '.', '..', undefined]) await assert.rejects(s.client().getPayment(name), TypeError, `read the payment ${name}`);
});

test('a POST is repeated with its key and its bytes', async (t) => {
  for (const [name, fault] of Object.entries({ drop, cut, '503': refusal(503, 'overloaded', { 'Retry-After': '0' }), 'in progress': refusal(409, 'idempotency_in_progress', { 'Retry-After': '0' }), '502 of a proxy': json(502, '<html>') })) {
    const s = await serve(t, fault, fault, payment);
    await s.client().createPayment({ type: 'gift', fiatCurrency: 'NGN' }, { idempotencyKey: 'order 17' });
    assert.deepEqual(s.requests.map(({ headers, body }) => [headers['idempotency-key'], body]), Array(3).fill(['order 17', '{"type":"gift","fiatCurrency":"NGN"}']), name);
  }
});

test('each call has a key of its own, and its repetitions share it', async (t) => {
  const s = await serve(t, drop, payment, payment);
  const client = s.client();
  for (let i = 0; i < 2; i++) await client.cancelPayment('CW-1');
  const [first, again, second] = s.requests.map(({ headers }) => headers['idempotency-key']);
  assert.equal(first, again);
  assert.notEqual(first, second);
});

test('repetitions end', async (t) => {
  const s = await serve(t, refusal(503, 'overloaded', { 'Retry-After': '0' }));
  await assert.rejects(s.client({ maxRetries: 2 }).getMe(), (e) => e instanceof ApiError && e.status === 503 && e.retryAfter === 0);
  assert.equal(s.requests.length, 3);
  await assert.rejects(s.client().getMe({ maxRetries: 0 }), ApiError);
  assert.equal(s.requests.length, 4);
});

test('a request that must not be repeated is sent once', async (t) => {
  for (const [fault, kind] of [[drop, ConnectionError], [refusal(503, 'overloaded', { 'Retry-After': '0' }), ApiError], [refusal(400, 'validation_failed'), ApiError]]) {
    const s = await serve(t, fault);
    await assert.rejects(s.client().changeWebhookEndpoint('whe_1', { enabled: true }), kind);
    assert.equal(s.requests.length, 1);
  }
});

test('Retry-After is kept', async (t) => {
  const s = await serve(t, refusal(429, 'rate_limited', { 'Retry-After': '1' }), payment);
  const began = performance.now();
  await s.client().getPayment('CW-1');
  assert.ok(performance.now() - began >= 999, `repeated after ${performance.now() - began} ms, want a second at least`);
  const far = await serve(t, refusal(429, 'rate_limited', { 'Retry-After': '120' }));
  await assert.rejects(far.client().getMe(), (e) => e.retryAfter === 120);
  assert.equal(far.requests.length, 1);
});

test('errors are typed', async (t) => {
  const s = await serve(t, refusal(400, 'validation_failed'));
  await assert.rejects(s.client().createPayment({ type: 'gift', fiatCurrency: 'NGN' }), (e) => {
    assert.ok(e instanceof ApiError && e instanceof CausewayError);
    assert.deepEqual([e.status, e.code, e.requestId, e.fields, e.message], [400, 'validation_failed', 'req_1', [{ field: 'type', message: 'is required' }], 'No.']);
    return true;
  });
});

test('an answer that is not of the API is an error', async (t) => {
  for (const [name, answer, status] of [
    ['a page', json(200, '<html>', { 'X-Request-Id': 'req_2' }), 200],
    ['no object', json(200, '"fine"'), 200],
    ['nothing', json(204, ''), 204],
    ['a redirect', json(302, '', { Location: 'http://127.0.0.1:1/' }), 302],
    ['another shape', json(418, '{"error":"tea"}'), 418],
  ]) {
    const s = await serve(t, answer);
    await assert.rejects(s.client().getMe(), (e) => e instanceof ApiError && e.status === status && e.code === 'unreadable_answer', name);
    assert.equal(s.requests.length, 1, name);
  }
});

test('time-outs and the caller end a call', async (t) => {
  const s = await serve(t, hang);
  await assert.rejects(s.client({ timeout: 1000, maxRetries: 1 }).getMe(), (e) => e instanceof ConnectionError && /no answer within 1000 ms/.test(e.message));
  assert.equal(s.requests.length, 2);
  const stop = new AbortController();
  const call = s.client().getMe({ signal: stop.signal });
  stop.abort(new Error('enough'));
  await assert.rejects(call, /enough/);
});

test('an answer without end is refused', async (t) => {
  const s = await serve(t, json(200, `{"a":"${'x'.repeat(5000)}"}`));
  await assert.rejects(s.client({ maxAnswer: 4096 }).getMe(), /more than 4096 bytes/);
  assert.equal(s.requests.length, 1);
});

test('signed requests, each signed afresh', async (t) => {
  const s = await serve(t, drop, payment);
  await s.client({ publicKey }).createPayment({ type: 'gift', fiatCurrency: 'NGN' });
  await s.client({ publicKey }).listPayments({ limit: 1 });
  assert.equal(s.requests.length, 3);
  for (const { method, url, headers, body } of s.requests) {
    assert.equal(headers.authorization, undefined);
    assert.equal(headers['x-api-key'], publicKey);
    assert.equal(headers['x-signature'], requestSignature(secret, headers['x-timestamp'], method, url, body));
  }
  assert.notEqual(s.requests[0].headers['x-timestamp'], s.requests[1].headers['x-timestamp']);
  assert.ok(!JSON.stringify(s.requests).includes(secret));
});

test('public operations get no key', async (t) => {
  const s = await serve(t, payment);
  await s.client().getCheckout('CW-1');
  await s.client({ apiKey: undefined }).getCheckout('CW-1');
  await s.client({ apiKey: undefined }).lookupReports({ phoneNumber: '1' });
  assert.deepEqual(s.requests.map(({ headers }) => headers.authorization), [undefined, undefined, undefined]);
  await assert.rejects(s.client({ apiKey: undefined }).getMe(), TypeError);
  assert.equal(s.requests.length, 3);
});

test('pages by cursor', async (t) => {
  const page = (items, next) => json(200, JSON.stringify({ success: true, payments: items, pagination: { limit: 2, nextCursor: next, hasMore: next !== null } }));
  const s = await serve(t, page([1, 2], 'a'), page([], 'b'), page([3], null));
  const got = [];
  for await (const item of s.client().iteratePayments({ type: 'gift' })) got.push(Number(String(item)));
  assert.deepEqual(got, [1, 2, 3]);
  assert.deepEqual(s.requests.map(({ url }) => url), ['/v1/payments?type=gift', '/v1/payments?type=gift&cursor=a', '/v1/payments?type=gift&cursor=b']);
  const round = await serve(t, page([1], 'a'));
  await assert.rejects(async () => { for await (const _ of round.client().iteratePayments()); }, /repeats the cursor/);
});

test('pages by offset, and by an empty cursor first', async (t) => {
  const page = (items, more = {}) => json(200, JSON.stringify({ success: true, data: { reports: items, total: 3, limit: 2, offset: 0, ...more } }));
  const s = await serve(t, page(['a', 'b']), page(['c']));
  const got = [];
  for await (const item of s.client().iterateLookupReports({ phoneNumber: '1', offset: 0, limit: 2 })) got.push(item);
  assert.deepEqual(got, ['a', 'b', 'c']);
  assert.deepEqual(s.requests.map(({ url }) => url), ['/v1/reports/lookup?phoneNumber=1&offset=0&limit=2', '/v1/reports/lookup?phoneNumber=1&offset=2&limit=2']);
  const cursor = await serve(t, page(['a'], { nextCursor: 'n', hasMore: true }), page(['b'], { nextCursor: null, hasMore: false }));
  for await (const _ of cursor.client().iterateLookupReports({ walletAddress: '0x1' }));
  assert.deepEqual(cursor.requests.map(({ url }) => url), ['/v1/reports/lookup?walletAddress=0x1&cursor=', '/v1/reports/lookup?walletAddress=0x1&cursor=n']);
});

test('a client refuses the wrong key', () => {
  const make = (options) => () => new Causeway({ baseUrl: 'https://api.example', apiKey: secret, ...options });
  assert.equal(make({ mode: 'test' })().mode, 'test');
  assert.equal(make({ mode: 'live', apiKey: live })().mode, 'live');
  assert.equal(make({ apiKey: live, baseUrl: 'http://localhost:1' })().mode, 'live');
  for (const [name, options] of Object.entries({
    'a test key for live': { mode: 'live' },
    'a live key for test': { mode: 'test', apiKey: live },
    'no key for live': { mode: 'live', apiKey: undefined },
    'a live key over http': { apiKey: live, baseUrl: 'http://api.example' },
    'a name that only begins like this machine': { apiKey: live, baseUrl: 'http://localhost.example' },
    'a public id as secret': { apiKey: publicKey },
    'a secret as public id': { publicKey: secret },
    'a live secret with a test id': { apiKey: live, publicKey },
    'a public id alone': { apiKey: undefined, publicKey },
    'a file': { baseUrl: 'file:///etc' },
    'a URL with a password': { baseUrl: 'https://a:b@api.example' },
    'a URL with a query': { baseUrl: 'https://api.example/?a' },
  })) assert.throws(make(options), TypeError, `make a client with ${name}`);
});

test('an Idempotency-Key is checked', async (t) => {
  const s = await serve(t, payment);
  for (const idempotencyKey of ['', ' x', 'a\nb', 'é', 'x'.repeat(256)]) {
    await assert.rejects(s.client().cancelPayment('CW-1', { idempotencyKey }), TypeError, `take the key ${idempotencyKey}`);
  }
  assert.equal(s.requests.length, 0);
});
