/** The JSON grammar of a number, with exponents of three digits at most. */
const grammar = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;

/** More characters than any amount has. */
const longest = 400;

/** What stands for a Decimal in a request. A `number` must be whole: 0.1 has no exact binary form. */
export type DecimalInput = Decimal | bigint | number;

/**
 * An exact decimal number. Amounts never pass through a binary fraction: answers are read digit by digit into Decimals,
 * and Decimals are written into requests digit by digit.
 */
export class Decimal {
  /** The number is digits / 10 ** scale, without zeros at the end of a fraction. */
  readonly #digits: bigint;
  readonly #scale: number;

  /** @param value a text such as "1234567.89", or a whole number */
  constructor(value: string | bigint | number | Decimal) {
    if (value instanceof Decimal) {
      this.#digits = value.#digits;
      this.#scale = value.#scale;
      return;
    }
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      throw new TypeError(`${value} has no exact decimal value; write it as a text, such as new Decimal("0.1")`);
    }
    const text = String(value);
    const match = text.length <= longest ? grammar.exec(text) : null;
    if (match === null) throw new TypeError(`${text.slice(0, 40)} is no decimal number`);
    const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
    let digits = BigInt(whole + fraction);
    let scale = fraction.length - Number(exponent);
    if (scale < 0) {
      digits *= 10n ** BigInt(-scale);
      scale = 0;
    }
    while (scale > 0 && digits % 10n === 0n) {
      digits /= 10n;
      scale--;
    }
    this.#digits = sign === '-' ? -digits : digits;
    this.#scale = scale;
  }

  /** The decimal of a whole number of smallest units: `Decimal.ofUnits(150n, 2)` is 1.5. */
  static ofUnits(units: bigint, scale: number): Decimal {
    if (!Number.isInteger(scale) || scale < 0 || scale > 100) throw new RangeError('a scale is 0 to 100');
    return new Decimal(`${units}e-${scale}`);
  }

  /** How many smallest units it is: `new Decimal("1.5").units(2)` is 150n. Fails if it is no whole number of them. */
  units(scale: number): bigint {
    if (!Number.isInteger(scale) || scale < this.#scale) throw new RangeError(`${this} has more than ${scale} digits after the point`);
    return this.#digits * 10n ** BigInt(scale - this.#scale);
  }

  plus(other: DecimalInput): Decimal {
    const [a, b, scale] = this.#aligned(other);
    return Decimal.#of(a + b, scale);
  }

  minus(other: DecimalInput): Decimal {
    const [a, b, scale] = this.#aligned(other);
    return Decimal.#of(a - b, scale);
  }

  times(other: DecimalInput): Decimal {
    const by = new Decimal(other);
    return Decimal.#of(this.#digits * by.#digits, this.#scale + by.#scale);
  }

  /** -1, 0 or 1: less than the other, equal, or more. */
  compare(other: DecimalInput): -1 | 0 | 1 {
    const [a, b] = this.#aligned(other);
    return a < b ? -1 : a > b ? 1 : 0;
  }

  equals(other: DecimalInput): boolean {
    return this.compare(other) === 0;
  }

  /** Plain digits, without an exponent and without zeros at the end of a fraction. */
  toString(): string {
    if (this.#scale === 0) return String(this.#digits);
    const sign = this.#digits < 0n ? '-' : '';
    const digits = String(this.#digits < 0n ? -this.#digits : this.#digits).padStart(this.#scale + 1, '0');
    return `${sign}${digits.slice(0, -this.#scale)}.${digits.slice(-this.#scale)}`;
  }

  /** A text, so that JSON.stringify loses nothing. */
  toJSON(): string {
    return this.toString();
  }

  /** Refuses arithmetic and comparison by operators, which would be binary. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'number') throw new TypeError('a Decimal has no operators: use plus, minus, times and compare');
    return this.toString();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Decimal(${this})`;
  }

  static #of(digits: bigint, scale: number): Decimal {
    return new Decimal(`${digits}e-${scale}`);
  }

  /** The digits of both at one scale. */
  #aligned(other: DecimalInput): [bigint, bigint, number] {
    const by = new Decimal(other);
    const scale = Math.max(this.#scale, by.#scale);
    return [this.units(scale), by.units(scale), scale];
  }
}
