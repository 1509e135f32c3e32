import { Decimal } from './decimal.js';

/** A text, or a number outside of texts. A text without an end is one token, which no later quote begins again. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?[0-9][0-9.eE+-]*/g;

/** Fields that hold whatever the merchant put there. */
const free = new Set(['metadata']);

/**
 * Reads JSON without rounding a number. A number is a Decimal, unless it is one of the whole numbers that the API
 * documents (`object.field` in integers), or a whole number inside metadata: these are numbers.
 *
 * JSON.parse rounds numbers before anybody sees them. So each number becomes a text first, with the mark #, and each
 * text gets the mark $: JSON.parse judges everything else, and no text of an answer can look like a number.
 */
export function decode(text: string, integers: ReadonlySet<string>): unknown {
  const marked = text.replace(tokens, (token) => (token.startsWith('"') ? `"$${token.slice(1)}` : `"#${token}"`));
  return unmarked(JSON.parse(marked), '', '', integers);
}

function unmarked(value: unknown, object: string, field: string, integers: ReadonlySet<string> | null): unknown {
  if (typeof value === 'string') {
    return value.startsWith('$') ? value.slice(1) : numeric(value.slice(1), integers === null || integers.has(`${object}.${field}`));
  }
  if (Array.isArray(value)) return value.map((item) => unmarked(item, object, field, integers));
  if (typeof value !== 'object' || value === null) return value;
  const within = free.has(field) ? null : integers;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.slice(1), unmarked(item, field, key.slice(1), within)]),
  );
}

function numeric(text: string, whole: boolean): number | Decimal {
  const exact = new Decimal(text); // refuses what is no JSON number
  return whole && /^-?[0-9]+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : exact;
}

/** Writes JSON: Decimals digit by digit, dates as the API writes times, and no number that is not whole. */
export function encode(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Decimal || typeof value === 'bigint') return String(value);
  if (value instanceof Date) return JSON.stringify(value.toISOString());
  if (typeof value === 'number') return String(new Decimal(value));
  if (typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(encode).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`a request cannot hold a ${typeof value}`);
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${encode(item)}`).join(',')}}`;
}
