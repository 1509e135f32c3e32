<?php

declare(strict_types=1);

namespace Causeway;

/**
 * An exact decimal number. Amounts never pass through a float: answers are read digit by digit into Decimals, and Decimals
 * are written into requests digit by digit.
 */
final readonly class Decimal implements \JsonSerializable, \Stringable
{
    /** More characters than any amount has, and a bound for exponents. */
    private const MOST = 400;

    /** Digits without zeros at the front, and how many of them follow the point. */
    private string $digits;
    private int $scale;
    private bool $negative;

    /** @param string|int $value a text such as "1234567.89", or a whole number */
    public function __construct(string|int $value)
    {
        $text = (string) $value;
        if (strlen($text) > self::MOST || !preg_match('/^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/D', $text, $match)) {
            throw new \InvalidArgumentException(substr($text, 0, 40) . ' is no decimal number');
        }
        $fraction = $match[3] ?? '';
        $scale = strlen($fraction) - (int) ($match[4] ?? 0);
        $digits = $match[2] . $fraction . str_repeat('0', max(0, -$scale));
        $scale = max(0, $scale);
        while ($scale > 0 && str_ends_with($digits, '0')) {
            $digits = substr($digits, 0, -1);
            $scale--;
        }
        $digits = ltrim($digits, '0');
        $this->digits = $digits === '' ? '0' : $digits;
        $this->scale = $digits === '' ? 0 : $scale;
        $this->negative = $match[1] === '-' && $digits !== '';
    }

    /** -1, 0 or 1: less than the other, equal, or more. */
    public function compare(self|string|int $other): int
    {
        $other = $other instanceof self ? $other : new self($other);
        if ($this->negative !== $other->negative) {
            return $this->negative ? -1 : 1;
        }
        [$a, $b] = $this->aligned($other);
        return ($this->negative ? -1 : 1) * strcmp($a, $b) <=> 0;
    }

    public function equals(self|string|int $other): bool
    {
        return $this->compare($other) === 0;
    }

    public function plus(self|string|int $other): self
    {
        $other = $other instanceof self ? $other : new self($other);
        [$a, $b] = $this->aligned($other);
        $scale = max($this->scale, $other->scale);
        if ($this->negative === $other->negative) {
            return self::of($this->negative, self::sum($a, $b, 1), $scale);
        }
        return strcmp($a, $b) >= 0
            ? self::of($this->negative, self::sum($a, $b, -1), $scale)
            : self::of($other->negative, self::sum($b, $a, -1), $scale);
    }

    public function minus(self|string|int $other): self
    {
        $other = $other instanceof self ? $other : new self($other);
        return $this->plus(self::of(!$other->negative, $other->digits, $other->scale));
    }

    /** The whole number of smallest units: `(new Decimal("1.5"))->units(2)` is "150". Fails if it is no whole number of them. */
    public function units(int $scale): string
    {
        if ($scale < $this->scale || $scale > self::MOST) {
            throw new \InvalidArgumentException("$this has more than $scale digits after the point");
        }
        $digits = $this->digits === '0' ? '0' : $this->digits . str_repeat('0', $scale - $this->scale);
        return ($this->negative ? '-' : '') . $digits;
    }

    /** Plain digits, without an exponent and without zeros at the end of a fraction. */
    public function __toString(): string
    {
        $sign = $this->negative ? '-' : '';
        if ($this->scale === 0) {
            return $sign . $this->digits;
        }
        $digits = str_pad($this->digits, $this->scale + 1, '0', STR_PAD_LEFT);
        return $sign . substr($digits, 0, -$this->scale) . '.' . substr($digits, -$this->scale);
    }

    /** A text, so that json_encode loses nothing. */
    public function jsonSerialize(): string
    {
        return (string) $this;
    }

    private static function of(bool $negative, string $digits, int $scale): self
    {
        $digits = ltrim($digits, '0');
        return new self(($negative && $digits !== '' ? '-' : '') . ($digits === '' ? '0' : $digits) . "e-$scale");
    }

    /** The digits of both, of one scale and one length. @return array{string, string} */
    private function aligned(self $other): array
    {
        $scale = max($this->scale, $other->scale);
        $a = $this->digits . str_repeat('0', $scale - $this->scale);
        $b = $other->digits . str_repeat('0', $scale - $other->scale);
        $length = max(strlen($a), strlen($b));
        return [str_pad($a, $length, '0', STR_PAD_LEFT), str_pad($b, $length, '0', STR_PAD_LEFT)];
    }

    /** a + b, or a - b where a is not less than b, digit by digit. */
    private static function sum(string $a, string $b, int $sign): string
    {
        $out = '';
        $carry = 0;
        for ($i = strlen($a) - 1; $i >= 0; $i--) {
            $digit = (int) $a[$i] + $sign * (int) $b[$i] + $carry;
            $carry = $digit > 9 ? 1 : ($digit < 0 ? -1 : 0);
            $out .= $digit - 10 * $carry;
        }
        return strrev($out . ($carry > 0 ? '1' : ''));
    }
}
