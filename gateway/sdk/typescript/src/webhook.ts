import { createHmac, timingSafeEqual } from 'node:crypto';

import { WebhookError } from './errors.js';
import { decode } from './json.js';
import { integers } from './operations.js';
import type { WebhookEvent } from './types.js';

/** Headers as fetch, node:http and most frameworks hold them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** How many seconds the time of the webhook may be off. Default 300. */
  tolerance?: number;
  /** The present time in milliseconds, for tests. */
  now?: number;
}

/**
 * Verifies a webhook (Standard Webhooks 1.0) and returns its event. Throws a WebhookError for one that is not genuine.
 *
 * @param body the raw body, byte for byte as it came; a framework that has parsed it must be asked for the raw one
 * @param headers the headers of the request
 * @param secrets the `whsec_…` of the endpoint or of the merchant; several while one is being replaced
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { tolerance = 300, now = Date.now() }: WebhookOptions = {},
): WebhookEvent {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('verifyWebhook needs the raw body, a string or bytes, and not a parsed object');
  }
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(secretKey);
  if (keys.length === 0) throw new TypeError('verifyWebhook needs at least one secret');
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  if (!id || !/^[0-9]{1,12}$/.test(timestamp) || !signatures) {
    throw new WebhookError('unsigned', 'it lacks webhook-id, webhook-timestamp or webhook-signature');
  }
  const given = signatures.split(' ').flatMap(signatureBytes);
  const raw = Buffer.from(body);
  const genuine = keys.some((key) => {
    const want = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(raw).digest();
    return given.some((one) => one.length === want.length && timingSafeEqual(one, want));
  });
  if (!genuine) throw new WebhookError('forged', 'no signature fits the body and a secret');
  if (Math.abs(now / 1000 - Number(timestamp)) > tolerance) {
    throw new WebhookError('stale', `its time is more than ${tolerance} seconds off`);
  }
  return decode(raw.toString('utf8'), integers) as WebhookEvent;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function secretKey(secret: string): Buffer {
  const text = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : '';
  if (text === '' || !base64.test(text)) throw new TypeError('a webhook secret is whsec_ and base64');
  return Buffer.from(text, 'base64');
}

/** The bytes of a `v1,…` signature; signatures of other versions are passed over. */
function signatureBytes(signature: string): Buffer[] {
  const text = signature.startsWith('v1,') ? signature.slice(3) : '';
  return text !== '' && base64.test(text) ? [Buffer.from(text, 'base64')] : [];
}

function header(headers: WebhookHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return typeof value === 'string' ? value : (value?.[0] ?? '');
  }
  return '';
}
