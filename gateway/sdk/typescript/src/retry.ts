/** How an attempt ended: no status means that no answer came. */
export interface Failure {
  status?: number;
  code?: string;
  retryAfter?: number | null;
}

/** What bounds the repetitions of a request. */
export interface RetryBounds {
  /** How often a request is repeated. */
  maxRetries: number;
  /** The longest wait before a repetition, in milliseconds. */
  maxWait: number;
}

/** The first wait, which doubles with each repetition up to the longest one of its own accord, in milliseconds. */
const first = 500;
const longest = 8_000;

/**
 * How many milliseconds to wait before the request is sent again, or null if it must not be.
 *
 * A repeatable request (a GET, or a POST with an Idempotency-Key) is sent again when no answer came, and when the answer
 * says that later may be better. Any other request is sent again only where the limits refused it, before it had any
 * effect. The wait is never shorter than Retry-After, and random, so that many clients do not return at once.
 */
export function retryWait(failure: Failure, repeatable: boolean, attempt: number, bounds: RetryBounds, random: number): number | null {
  if (attempt >= bounds.maxRetries || !mayRepeat(failure, repeatable)) return null;
  const half = Math.min(longest, first * 2 ** attempt) / 2;
  const least = failure.retryAfter == null ? half : failure.retryAfter * 1000;
  const wait = least + Math.floor(random * half);
  return wait > bounds.maxWait ? null : wait;
}

function mayRepeat({ status, code }: Failure, repeatable: boolean): boolean {
  if (status === 429) return true;
  if (!repeatable) return false;
  if (status === undefined || status === 502 || status === 503 || status === 504) return true;
  return status === 409 && code === 'idempotency_in_progress';
}
