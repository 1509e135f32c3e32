import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { ApiError, CausewayError, ConnectionError, errorShape } from './errors.js';
import { decode, encode } from './json.js';
import { keyMode, type Mode } from './key.js';
import { integers, Operations } from './operations.js';
import type { Listing, Operation, Request, RequestOptions } from './request.js';
import { retryWait, type RetryBounds } from './retry.js';
import { requestSignature } from './sign.js';
import { version } from './version.js';

export interface Options {
  /** Where the API is, such as https://api.example. */
  baseUrl: string;
  /** The secret of an API key, `sk_…`. Public operations need none. */
  apiKey?: string;
  /** The public id of the same key, `pk_…`. With it each request is signed, and the secret never leaves the program. */
  publicKey?: string;
  /** The mode that the key must have. A program that says `test` never moves money because of a wrong key. */
  mode?: Mode;
  /** Milliseconds for one attempt. Default 30 000. */
  timeout?: number;
  /** How often a request is repeated at most. Default 3. */
  maxRetries?: number;
  /** The longest wait before a repetition, in milliseconds. A longer Retry-After ends the call. Default 60 000. */
  maxWait?: number;
  /** The most bytes of an answer. Default 64 MiB. */
  maxAnswer?: number;
  /** The name of your program, for the User-Agent. */
  userAgent?: string;
}

/** A client of the Causeway API. It holds no state besides its options, and one serves a whole program. */
export class Causeway extends Operations {
  /** The mode of the key, or null without one. */
  readonly mode: Mode | null;
  readonly #base: string;
  readonly #apiKey: string | undefined;
  readonly #publicKey: string | undefined;
  readonly #bounds: RetryBounds & { timeout: number; maxAnswer: number };
  readonly #userAgent: string;

  constructor(options: Options) {
    super();
    const base = new URL(options.baseUrl);
    if (base.protocol !== 'https:' && base.protocol !== 'http:') throw new TypeError('baseUrl is no http or https URL');
    if (base.username || base.password || base.search || base.hash) throw new TypeError('baseUrl holds more than scheme, host and path');
    this.mode = options.apiKey === undefined ? null : keyMode(options.apiKey, 'sk');
    if (options.publicKey !== undefined && (this.mode === null || keyMode(options.publicKey, 'pk') !== this.mode)) {
      throw new TypeError('publicKey and apiKey are not of one mode');
    }
    if (options.mode !== undefined && options.mode !== this.mode) {
      throw new TypeError(`this client is for ${options.mode} mode, and its key is ${this.mode === null ? 'missing' : `a ${this.mode} key`}`);
    }
    if (this.mode === 'live' && base.protocol !== 'https:' && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(base.hostname)) {
      throw new TypeError('a live key is sent over https only');
    }
    this.#base = base.href.replace(/\/+$/, '');
    this.#apiKey = options.apiKey;
    this.#publicKey = options.publicKey;
    this.#bounds = {
      timeout: options.timeout ?? 30_000,
      maxRetries: options.maxRetries ?? 3,
      maxWait: options.maxWait ?? 60_000,
      maxAnswer: options.maxAnswer ?? 64 << 20,
    };
    this.#userAgent = `causeway-sdk-typescript/${version} node/${process.versions.node}${options.userAgent ? ` ${options.userAgent}` : ''}`;
  }

  protected override async call<T>(operation: Operation, request: Request): Promise<T> {
    if (operation.key === 'needed' && this.#apiKey === undefined) {
      throw new TypeError(`${operation.method} ${operation.path} needs an apiKey`);
    }
    const path = target(operation.path, request);
    const body = request.body === undefined ? '' : encode(request.body);
    const fixed: Record<string, string> = { 'User-Agent': this.#userAgent, Accept: 'application/json' };
    if (body !== '') fixed['Content-Type'] = 'application/json';
    const { idempotencyKey = randomUUID(), signal } = request.options;
    if (operation.method === 'POST' && operation.repeatable) {
      if (!/^[\x21-\x7e][\x20-\x7e]{0,254}$/.test(idempotencyKey)) throw new TypeError('an idempotencyKey has 1 to 255 printable characters');
      fixed['Idempotency-Key'] = idempotencyKey;
    }
    const bounds = { ...this.#bounds, ...defined(request.options) };
    for (let attempt = 0; ; attempt++) {
      try {
        return (await this.#once(operation, path, body, fixed, bounds, signal)) as T;
      } catch (error) {
        if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
        const wait = retryWait(error instanceof ApiError ? error : {}, operation.repeatable, attempt, bounds, Math.random());
        if (wait === null) throw error;
        await sleep(wait, undefined, signal ? { signal } : {});
      }
    }
  }

  /** One attempt. Each is signed afresh: the API takes a signature once. */
  async #once(operation: Operation, path: string, body: string, fixed: Record<string, string>, bounds: { timeout: number; maxAnswer: number }, signal?: AbortSignal): Promise<unknown> {
    const headers = { ...fixed, ...(operation.key !== 'none' ? this.#credential(operation.method, path, body) : {}) };
    const limit = AbortSignal.timeout(bounds.timeout);
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#base + path, {
        method: operation.method,
        headers,
        redirect: 'manual', // the key goes to no other host
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(body === '' ? {} : { body }),
      });
      text = await read(response, bounds.maxAnswer);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof CausewayError) throw error;
      const why = limit.aborted ? `no answer within ${bounds.timeout} ms` : describe(error);
      throw new ConnectionError(`${operation.method} ${operation.path}: ${why}`, { cause: error });
    }
    let answer: unknown = null;
    try {
      answer = decode(text, integers);
    } catch {
      // Something between the client and the API may answer in its own words; the status says enough.
    }
    if (response.ok && typeof answer === 'object' && answer !== null) return answer;
    throw new ApiError(response.status, response.ok ? null : errorShape(answer), response.headers.get('x-request-id'), seconds(response.headers.get('retry-after')));
  }

  #credential(method: string, path: string, body: string): Record<string, string> {
    if (this.#apiKey === undefined) return {};
    if (this.#publicKey === undefined) return { Authorization: `Bearer ${this.#apiKey}` };
    const timestamp = Date.now();
    return {
      'X-API-Key': this.#publicKey,
      'X-Timestamp': String(timestamp),
      'X-Signature': requestSignature(this.#apiKey, timestamp, method, path, body),
    };
  }

  protected override async *pages<T>(operation: Operation, listing: Listing, request: Request): AsyncGenerator<T, void, undefined> {
    const query: Record<string, unknown> = { ...request.query };
    const byOffset = listing.offset && query['offset'] !== undefined;
    if (listing.offset && !byOffset) query['cursor'] ??= '';
    for (;;) {
      const answer = await this.call<Record<string, unknown>>(operation, { ...request, query });
      const page = (listing.in === '' ? answer : answer[listing.in]) as Record<string, unknown>;
      const items = page[listing.items] as T[];
      const { limit, nextCursor, hasMore } = (page['pagination'] ?? page) as { limit: number; nextCursor?: string | null; hasMore?: boolean };
      yield* items;
      if (byOffset) {
        if (items.length < limit) return;
        query['offset'] = Number(query['offset']) + items.length;
        continue;
      }
      if (!hasMore || !nextCursor) return;
      if (nextCursor === query['cursor']) throw new CausewayError(`${operation.path} repeats the cursor ${nextCursor}`);
      query['cursor'] = nextCursor;
    }
  }
}

/** The path with its names and its query filled in. */
function target(pattern: string, request: Request): string {
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = request.path?.[name];
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..') throw new TypeError(`${name} is missing`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value === undefined || value === null) continue;
    query.append(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The options of a call that replace those of the client. */
function defined({ timeout, maxRetries }: RequestOptions): { timeout?: number; maxRetries?: number } {
  return { ...(timeout === undefined ? {} : { timeout }), ...(maxRetries === undefined ? {} : { maxRetries }) };
}

/** The text of an answer, up to a bound. */
async function read(response: Response, most: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > most) throw new CausewayError(`the answer has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function seconds(text: string | null): number | null {
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : null;
}

/** Why fetch failed: it hides the reason in the cause. */
function describe(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  return cause?.message || message || String(error);
}
