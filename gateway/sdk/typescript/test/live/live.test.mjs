// The client and its examples against a running product: CAUSEWAY_URL, and a test key of a merchant of its own in
// CAUSEWAY_API_KEY and CAUSEWAY_PUBLIC_KEY. `bin/stack test` runs it.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { ApiError, Causeway, Decimal, verifyWebhook, WebhookError } from '@causeway/sdk';

const { CAUSEWAY_URL: baseUrl, CAUSEWAY_API_KEY: apiKey, CAUSEWAY_PUBLIC_KEY: publicKey } = process.env;
const plain = new Causeway({ baseUrl, apiKey, mode: 'test' });
const signed = new Causeway({ baseUrl, apiKey, publicKey, mode: 'test' });
const clients = Object.entries({ plain, signed });

const transfer = (more) => ({
  type: 'transfer',
  fiatAmount: new Decimal('1234567.89'),
  fiatCurrency: 'NGN',
  crypto: 'USDT',
  network: 'tron',
  chargeFrom: 'crypto',
  payer: { chatId: '42' },
  receiver: { bankCode: '058', accountNumber: '0123456789' },
  ...more,
});

async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

async function eventually(what, holds) {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) {
    const got = await holds();
    if (got) return got;
  }
  throw new Error(`waited a minute in vain for ${what}`);
}

async function listen(t, handler) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

for (const [name, causeway] of clients) {
  test(`${name}: create, read, list and cancel with exact amounts`, async () => {
    const me = await causeway.getMe();
    assert.equal(me.key.mode, 'test');
    const idempotencyKey = `order-${crypto.randomUUID()}`;
    const { payment } = await causeway.createPayment(transfer({ metadata: { order: 17, share: new Decimal('0.1') } }), { idempotencyKey });
    assert.equal(String(payment.fiatAmount), '1234567.89');
    const again = await causeway.createPayment(transfer({ metadata: { order: 17, share: new Decimal('0.1') } }), { idempotencyKey });
    assert.deepEqual(again, { success: true, payment });
    await assert.rejects(causeway.createPayment(transfer({ fiatAmount: 5000 }), { idempotencyKey }), (e) => e instanceof ApiError && e.status === 422 && e.code === 'idempotency_key_reused');

    const { payment: read } = await causeway.getPayment(payment.reference);
    assert.equal(String(read.fiatAmount), '1234567.89');
    assert.ok(read.cryptoAmount.equals(payment.cryptoAmount));
    assert.ok(read.rate instanceof Decimal && read.charge.fiat instanceof Decimal);
    assert.equal(read.confirmations, 0);
    assert.equal(read.metadata.order, 17);
    assert.equal(String(read.metadata.share), '0.1');

    await causeway.createPayment(transfer({ fiatAmount: 5000 }));
    const pages = await all(causeway.iteratePayments({ limit: 1, type: 'transfer' }));
    assert.equal(pages.filter(({ reference }) => reference === payment.reference).length, 1);
    assert.equal(new Set(pages.map(({ reference }) => reference)).size, pages.length);
    assert.equal((await causeway.cancelPayment(payment.reference)).payment.status, 'cancelled');
    const ended = await all(causeway.iteratePayments({ status: ['cancelled', 'expired'], payerChatId: '42' }));
    assert.ok(ended.some(({ reference }) => reference === payment.reference));
    assert.ok(ended.every(({ status }) => status === 'cancelled' || status === 'expired'));
  });

  test(`${name}: refusals are typed`, async () => {
    await assert.rejects(causeway.getPayment('CW-AAAAAAAAAAAA'), (e) => e instanceof ApiError && e.status === 404 && e.code === 'payment_not_found' && e.requestId.startsWith('req_'));
    await assert.rejects(causeway.createPayment({ type: 'transfer', fiatCurrency: 'NGN' }), (e) => e.status === 400 && e.code === 'validation_failed' && e.fields.some(({ field }) => field === 'crypto'));
    await assert.rejects(causeway.createPayment(transfer({ fiatAmount: new Decimal('0.001') })), (e) => e.status === 400 && e.fields[0]?.field === 'fiatAmount');
  });
}

test('18 digits go to a wallet and come back', async () => {
  const made = [];
  for (let i = 0; i < 3; i++) made.push((await plain.createWallet({ network: 'bsc', crypto: 'USDT', expiresInMinutes: new Decimal('60.5') })).wallet.id);
  await plain.sandboxDepositWallet(made[0], { amount: new Decimal('1234567.000000000000000001') });
  const { wallet } = await eventually('the deposit', async () => {
    const got = await signed.getWallet(made[0]);
    return got.wallet.amount !== '0' && got;
  });
  assert.equal(wallet.amount, '1234567.000000000000000001');
  for (const query of [{ limit: 2 }, { limit: 2, offset: 0 }]) {
    for (const [name, causeway] of clients) {
      const listed = (await all(causeway.iterateWallets(query))).map(({ id }) => id);
      assert.deepEqual(listed.filter((id) => made.includes(id)), made.toReversed(), `${name}: list the wallets by ${JSON.stringify(query)}`);
    }
  }
});

test('reports are found on all pages', async () => {
  const walletAddress = `0x${crypto.randomUUID().replaceAll('-', '')}`;
  for (let i = 0; i < 3; i++) await plain.createReport({ complaintType: 'fraud', name: `Ada ${i}`, walletAddress });
  for (const query of [{ limit: 1 }, { limit: 1, offset: 0 }]) {
    const names = (await all(plain.iterateLookupReports({ walletAddress, ...query }))).map(({ name }) => name);
    assert.deepEqual(names, ['Ada 2', 'Ada 1', 'Ada 0']);
  }
});

test('an answer that was lost makes no second payment', async (t) => {
  let lost = 0;
  const proxy = await listen(t, async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const onward = forward(baseUrl + incoming.url, { method: incoming.method, headers: incoming.headers }, async (answer) => {
      const whole = await buffer(answer);
      if (lost++ === 0) return outgoing.socket.destroy();
      outgoing.writeHead(answer.statusCode, answer.headers).end(whole);
    });
    onward.end(body);
  });
  const chatId = crypto.randomUUID();
  const { payment } = await new Causeway({ baseUrl: proxy, apiKey }).createPayment(transfer({ metadata: { chatId } }));
  assert.equal(lost, 2);
  const found = (await all(plain.iteratePayments())).filter(({ metadata }) => metadata.chatId === chatId);
  assert.deepEqual(found.map(({ reference }) => reference), [payment.reference]);
});

test('webhooks are verified, also while the secret is replaced', async (t) => {
  const { secret: old } = await plain.getWebhookSecret();
  const { secret: fresh } = await plain.rotateWebhookSecret();
  assert.notEqual(old, fresh);
  const events = [];
  const hook = await listen(t, async (request, response) => {
    const raw = await buffer(request);
    for (const secrets of [old, fresh, [fresh, old]]) events.push(verifyWebhook(raw, request.headers, secrets));
    assert.throws(() => verifyWebhook(Buffer.concat([raw, Buffer.from(' ')]), request.headers, [fresh, old]), WebhookError);
    response.end();
  });
  const { payment } = await plain.createPayment(transfer({ callbackUrl: hook }));
  await plain.sandboxDepositPayment(payment.reference);
  const settled = await eventually('payment.settled', async () => events.find(({ type }) => type === 'payment.settled'));
  assert.equal(settled.data.payment.reference, payment.reference);
  assert.equal(String(settled.data.payment.fiatAmount), '1234567.89');
  assert.equal(settled.data.payment.sequence, 5);
});

const example = (name) => new URL(`../../examples/${name}.mjs`, import.meta.url).pathname;
const run = async (name) => (await promisify(execFile)(process.execPath, [example(name)], { timeout: 60_000 })).stdout;

test('the examples run', async (t) => {
  assert.match(await run('transfer'), /: send [0-9.]+ USDT to T\w+\n(.*\n)*CW-\w+: settled\n$/);
  assert.match(await run('list'), /^25000(\.\d+)? NGN$|^\d+(\.\d+)? NGN$/m);
  const { secret } = await plain.getWebhookSecret();
  const shop = spawn(process.execPath, [example('webhooks')], { env: { ...process.env, WEBHOOK_SECRET: secret, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => shop.kill());
  const lines = createInterface(shop.stdout)[Symbol.asyncIterator]();
  const url = (await lines.next()).value.split(' ').at(-1);
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 400);
  const { payment } = await plain.createPayment(transfer({ fiatAmount: 5000, callbackUrl: url }));
  await plain.sandboxDepositPayment(payment.reference);
  for (;;) {
    const { value, done } = await lines.next();
    assert.ok(!done, 'the example ended before the payment was settled');
    if (value.startsWith('payment.settled')) return assert.equal(value, `payment.settled ${payment.reference}: 5000 NGN`);
  }
});
