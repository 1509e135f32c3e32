import { createHash, createHmac } from 'node:crypto';

/** The X-Signature of a request (docs/api-contract.md#signed-requests). The path has its query. */
export function requestSignature(secret: string, timestamp: number, method: string, path: string, body: string): string {
  const key = createHash('sha256').update(secret).digest('hex');
  const hash = createHash('sha256').update(body).digest('hex');
  return createHmac('sha256', key).update(`${timestamp}|${method}|${path}|${hash}`).digest('hex');
}
