// Every recorded case of gateway/sdk/testdata/vectors.json.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Decimal, keyMode, requestSignature, verifyWebhook, version, WebhookError } from '../dist/index.js';
import { decode, encode } from '../dist/json.js';
import { retryWait } from '../dist/retry.js';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const vectors = read('../../testdata/vectors.json');

test('keys', () => {
  for (const { key, kind, mode } of vectors.keys) {
    if (mode === null) assert.throws(() => keyMode(key, kind), TypeError, `take ${JSON.stringify(key)} for a ${kind}`);
    else assert.equal(keyMode(key, kind), mode, `the mode of ${key}`);
  }
});

test('a refused key is not in the message', () => {
  const key = vectors.keys[0].key.slice(0, -1);
  assert.throws(() => keyMode(key, 'sk'), (error) => !error.message.includes(key.slice(8)));
});

test('signatures of requests', () => {
  for (const { name, secret, timestamp, method, path, body, signature } of vectors.requestSignatures) {
    assert.equal(requestSignature(secret, timestamp, method, path, body), signature, name);
  }
});

test('webhooks', async (t) => {
  for (const { name, body, headers, secrets, now, error } of vectors.webhooks) {
    await t.test(name, () => {
      for (const raw of [body, Buffer.from(body)]) {
        const verify = () => verifyWebhook(raw, headers, secrets, { now: now * 1000 });
        if (error === null) assert.equal(encode(verify()), encode(decode(body, new Set(['payment.sequence', 'payment.confirmations']))));
        else assert.throws(verify, (e) => e instanceof WebhookError && e.reason === error, `verify a webhook with ${name}, want ${error}`);
      }
    });
  }
});

test('webhooks: headers of fetch, and amounts of the event', () => {
  const { body, headers, secrets, now } = vectors.webhooks[1];
  const event = verifyWebhook(body, new Headers(headers), secrets[0], { now: now * 1000 });
  assert.equal(event.type, 'payment.settled');
  assert.equal(String(event.data.payment.fiatAmount), '1234567.89');
  assert.equal(String(event.data.payment.cryptoAmount), '0.000000000000000001');
  assert.equal(event.data.payment.confirmations, 21);
});

test('webhooks: wrong use is no forged webhook', () => {
  const { body, headers, now } = vectors.webhooks[1];
  for (const secret of vectors.badWebhookSecrets) {
    assert.throws(() => verifyWebhook(body, headers, secret, { now: now * 1000 }), TypeError, `take the secret ${secret}`);
  }
  assert.throws(() => verifyWebhook(body, headers, []), TypeError, 'verify without a secret');
  assert.throws(() => verifyWebhook(JSON.parse(body), headers, vectors.webhooks[1].secrets), TypeError, 'verify a parsed body');
});

test('decimals', () => {
  for (const { text, want } of vectors.decimals) {
    const got = new Decimal(text);
    assert.equal(String(got), want, `read ${text}`);
    assert.equal(JSON.stringify({ a: got }), `{"a":"${want}"}`);
    assert.equal(encode({ a: got }), `{"a":${want}}`);
    assert.ok(got.equals(new Decimal(want)));
  }
  for (const text of vectors.badDecimals) assert.throws(() => new Decimal(text), TypeError, `take ${JSON.stringify(text)} for a decimal`);
});

test('arithmetic of decimals', () => {
  for (const { a, b, sum, difference, product, compare } of vectors.arithmetic) {
    const x = new Decimal(a);
    const y = new Decimal(b);
    assert.deepEqual([x.plus(y), x.minus(y), x.times(y)].map(String), [sum, difference, product], `${a} and ${b}`);
    assert.deepEqual([x.compare(y), y.compare(x)], [compare, 0 - compare], `${a} and ${b}`);
  }
  assert.equal(new Decimal('1.5').units(18), 1500000000000000000n);
  assert.equal(String(Decimal.ofUnits(-150n, 2)), '-1.5');
  assert.throws(() => new Decimal('1.005').units(2), RangeError);
});

test('binary fractions are refused', () => {
  assert.throws(() => new Decimal(0.1), TypeError);
  assert.throws(() => new Decimal(2 ** 53), TypeError);
  assert.throws(() => encode({ fiatAmount: 1234.5 }), TypeError);
  assert.throws(() => encode({ fiatAmount: NaN }), TypeError);
  assert.throws(() => new Decimal('1') * 2, TypeError);
  assert.throws(() => new Decimal('1') < new Decimal('2'), TypeError);
});

test('requests', () => {
  const at = new Date('2026-04-01T13:30:00Z');
  assert.equal(
    encode({ a: new Decimal('1234567.89'), b: 10n ** 18n, c: 5000, d: undefined, e: null, f: [true, 'x"\n'], g: at, h: -0 }),
    '{"a":1234567.89,"b":1000000000000000000,"c":5000,"e":null,"f":[true,"x\\"\\n"],"g":"2026-04-01T13:30:00.000Z","h":0}',
  );
  assert.throws(() => encode({ a: () => 1 }), TypeError);
});

test('answers', () => {
  const at = (value, path) => path.split('.').reduce((inner, name) => inner[name], value);
  for (const { name, integers, text, decimals, numbers, texts } of vectors.answers) {
    const got = decode(text, new Set(integers));
    for (const [path, want] of Object.entries(decimals)) {
      assert.ok(at(got, path) instanceof Decimal, `${name}: ${path} is no Decimal`);
      assert.equal(String(at(got, path)), want, `${name}: ${path}`);
    }
    for (const [path, want] of Object.entries({ ...numbers, ...texts })) assert.strictEqual(at(got, path), want, `${name}: ${path}`);
  }
  for (const text of vectors.badAnswers) assert.throws(() => decode(text, new Set()), undefined, `decode ${text}`);
});

test('an answer changes no prototype', () => {
  const got = decode('{"__proto__":{"admin":true},"constructor":"x"}', new Set());
  assert.equal(got.admin, undefined);
  assert.equal({}.admin, undefined);
  assert.deepEqual(Object.keys(got), ['__proto__', 'constructor']);
});

test('a long text is read', () => {
  const long = 'x\\"1.5'.repeat(400_000);
  assert.equal(decode(`{"a":"${long}","n":0.1}`, new Set()).a.length, 5 * 400_000);
});

test('repetitions', () => {
  for (const { name, failure, repeatable, attempt, random, wait, maxRetries, maxWait } of vectors.retries) {
    assert.equal(retryWait(failure, repeatable, attempt, { maxRetries, maxWait }, random), wait, name);
  }
});

test('the version is that of package.json', () => {
  assert.equal(version, read('../package.json').version);
});
