import type { ErrorCode } from './types.js';

/** Every error of this package, except TypeErrors for wrong arguments. */
export class CausewayError extends Error {
  override name = 'CausewayError';
}

/** A field that a request got wrong. */
export interface FieldError {
  field: string;
  message: string;
}

/** The API refused a request. `code` never changes its meaning; messages may. */
export class ApiError extends CausewayError {
  override name = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode | 'unreadable_answer';
  /** What support needs to find the request. */
  readonly requestId: string | null;
  readonly fields: readonly FieldError[];
  /** Seconds after which the API wants to be asked again, if it said so. */
  readonly retryAfter: number | null;

  constructor(status: number, shape: ErrorShape | null, requestId: string | null, retryAfter: number | null) {
    super(shape?.message ?? `the answer with status ${status} is not Causeway's`);
    this.status = status;
    this.code = shape?.code ?? 'unreadable_answer';
    this.requestId = shape?.requestId ?? requestId;
    this.fields = Array.isArray(shape?.fields) ? shape.fields : [];
    this.retryAfter = retryAfter;
  }
}

/** No answer came: the connection failed or took too long. Whether the request had an effect is not known. */
export class ConnectionError extends CausewayError {
  override name = 'ConnectionError';
}

/** A webhook is not from Causeway, or is too old. Answer it with status 400 and do nothing. */
export class WebhookError extends CausewayError {
  override name = 'WebhookError';
  readonly reason: 'unsigned' | 'stale' | 'forged';

  constructor(reason: WebhookError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The error inside of an answer. */
export interface ErrorShape {
  code: ErrorCode;
  message: string;
  requestId?: string;
  fields?: FieldError[];
}

/** The error that a decoded answer describes, or null if it is none of Causeway's. */
export function errorShape(answer: unknown): ErrorShape | null {
  const error = (answer as { error?: ErrorShape } | null)?.error;
  return typeof error?.code === 'string' && typeof error.message === 'string' ? error : null;
}
