/** What is known of an operation of the API. */
export interface Operation {
  method: string;
  path: string;
  /** Whether it takes an API key. */
  key: 'needed' | 'optional' | 'none';
  /** It may be sent again: a GET, or a POST with an Idempotency-Key. */
  repeatable: boolean;
}

/** The fields of an answer that make a page, and whether the list is also read by offset. */
export interface Listing {
  in: string;
  items: string;
  offset: boolean;
}

/** One request. */
export interface Request {
  path?: Record<string, string>;
  query?: object;
  body?: object;
  options: RequestOptions;
}

export interface RequestOptions {
  /**
   * The Idempotency-Key of a POST, 1 to 255 printable characters. Without it each call makes one of its own, which
   * covers its repetitions. Give the id of your order, so that a repetition after a crash of your program has one effect
   * too.
   */
  idempotencyKey?: string;
  /** Ends the call and its repetitions. */
  signal?: AbortSignal;
  /** Milliseconds for one attempt, in place of the client's. */
  timeout?: number;
  /** How often the request is repeated at most, in place of the client's. */
  maxRetries?: number;
}
