<?php

declare(strict_types=1);

namespace Causeway;

final class Key
{
    private const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

    /**
     * The mode of a key, from its own letters. Throws for a text that is no key of this kind: the checksum finds a typo or a
     * cut before the key is sent anywhere. The message never shows the key.
     *
     * @param 'sk'|'pk' $kind
     * @return 'live'|'test'
     */
    public static function mode(#[\SensitiveParameter] string $key, string $kind): string
    {
        if (!preg_match('/^(sk|pk)_(live|test)_[0-9A-Za-z]{36}$/D', $key, $match) || $match[1] !== $kind || self::checksum(substr($key, 0, -6)) !== substr($key, -6)) {
            throw new \InvalidArgumentException($kind === 'sk'
                ? 'this is no secret of an API key (sk_live_… or sk_test_…)'
                : 'this is no public id of an API key (pk_live_… or pk_test_…)');
        }
        return $match[2];
    }

    /** The CRC-32 (IEEE) of a text as six base62 digits. */
    private static function checksum(#[\SensitiveParameter] string $text): string
    {
        $rest = crc32($text);
        $digits = '';
        for ($i = 0; $i < 6; $i++) {
            $digits = self::ALPHABET[$rest % 62] . $digits;
            $rest = intdiv($rest, 62);
        }
        return $digits;
    }
}
