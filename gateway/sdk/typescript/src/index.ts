export { Causeway, type Options } from './client.js';
export { Decimal, type DecimalInput } from './decimal.js';
export { ApiError, CausewayError, ConnectionError, WebhookError, type FieldError } from './errors.js';
export { keyMode } from './key.js';
export { requestSignature } from './sign.js';
export type { RequestOptions } from './request.js';
export type * from './types.js';
export { verifyWebhook, type WebhookHeaders, type WebhookOptions } from './webhook.js';
export { version } from './version.js';
