export type Mode = 'live' | 'test';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * The mode of a key, from its own letters. Throws a TypeError for a text that is no key of this kind: the checksum finds
 * a typo or a cut before the key is sent anywhere. The message never shows the key.
 */
export function keyMode(key: string, kind: 'sk' | 'pk'): Mode {
  const match = /^(sk|pk)_(live|test)_[0-9A-Za-z]{36}$/.exec(key);
  if (match?.[1] !== kind || checksum(key.slice(0, -6)) !== key.slice(-6)) {
    throw new TypeError(kind === 'sk' ? 'apiKey is no secret of an API key (sk_live_… or sk_test_…)' : 'publicKey is no public id of an API key (pk_live_… or pk_test_…)');
  }
  return match[2] as Mode;
}

/** The CRC-32 (IEEE) of a text as six base62 digits. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
