<?php

declare(strict_types=1);

namespace Causeway;

/** JSON without rounded numbers. @internal */
final class Json
{
    /** A text, or a number outside of texts. A text without an end is one token, which no later quote begins again. */
    private const TOKENS = '/"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"?+|-?[0-9][0-9.eE+-]*+/s';

    /** Fields that hold whatever the merchant put there. */
    private const FREE = ['metadata' => true];

    /**
     * A number is a Decimal, unless it is one of the whole numbers that the API documents (`object.field` in integers), or a
     * whole number inside metadata: these are ints.
     *
     * json_decode makes floats of numbers before anybody sees them. So each number becomes a text first, with the mark #, and
     * each text gets the mark $: json_decode judges everything else, and no text of an answer can look like a number.
     *
     * @param array<string, true> $integers
     */
    public static function decode(string $text, array $integers): mixed
    {
        $marked = preg_replace_callback(
            self::TOKENS,
            static fn (array $token): string => $token[0][0] === '"' ? '"$' . substr($token[0], 1) : '"#' . $token[0] . '"',
            $text,
        );
        if ($marked === null) {
            throw new \JsonException('the answer cannot be read: ' . preg_last_error_msg());
        }
        return self::unmarked(json_decode($marked, true, 64, JSON_THROW_ON_ERROR), '', '', $integers);
    }

    /** @param array<string, true>|null $integers null inside metadata */
    private static function unmarked(mixed $value, string $object, string $field, ?array $integers): mixed
    {
        if (is_string($value)) {
            return $value[0] === '$' ? substr($value, 1) : self::numeric(substr($value, 1), $integers === null || isset($integers["$object.$field"]));
        }
        if (!is_array($value)) {
            return $value;
        }
        if (array_is_list($value)) {
            return array_map(static fn (mixed $item): mixed => self::unmarked($item, $object, $field, $integers), $value);
        }
        $within = isset(self::FREE[$field]) ? null : $integers;
        $out = [];
        foreach ($value as $key => $item) {
            $name = substr((string) $key, 1);
            $out[$name] = self::unmarked($item, $field, $name, $within);
        }
        return $out;
    }

    private static function numeric(string $text, bool $whole): int|Decimal
    {
        try {
            $exact = new Decimal($text);
        } catch (\InvalidArgumentException $e) {
            throw new \JsonException($e->getMessage(), 0, $e);
        }
        return $whole && preg_match('/^-?[0-9]{1,16}$/D', $text) && abs((int) $text) <= 2 ** 53 - 1 ? (int) $text : $exact;
    }

    /** Decimals digit by digit, times as the API writes them, and no float. */
    public static function encode(mixed $value): string
    {
        return match (true) {
            $value === null => 'null',
            is_bool($value) => $value ? 'true' : 'false',
            is_int($value), $value instanceof Decimal => (string) $value,
            is_string($value) => json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES),
            $value instanceof \DateTimeInterface => '"' . self::instant($value) . '"',
            is_array($value) && array_is_list($value) => '[' . implode(',', array_map(self::encode(...), $value)) . ']',
            is_array($value), $value instanceof \stdClass => self::members((array) $value),
            is_float($value) => throw new \InvalidArgumentException("$value has no exact decimal value: write new Decimal('0.1')"),
            default => throw new \InvalidArgumentException('a request cannot hold a ' . get_debug_type($value)),
        };
    }

    /** A time as the API writes it. */
    public static function instant(\DateTimeInterface $time): string
    {
        return \DateTimeImmutable::createFromInterface($time)->setTimezone(new \DateTimeZone('UTC'))->format('Y-m-d\TH:i:s.v\Z');
    }

    /** @param array<int|string, mixed> $fields */
    private static function members(array $fields): string
    {
        $members = [];
        foreach ($fields as $name => $item) {
            $object = $item === [] && isset(self::FREE[$name]); // PHP does not tell an empty list from an empty object
            $members[] = self::encode((string) $name) . ':' . ($object ? '{}' : self::encode($item));
        }
        return '{' . implode(',', $members) . '}';
    }
}
