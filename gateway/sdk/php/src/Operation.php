<?php

declare(strict_types=1);

namespace Causeway;

/** What is known of an operation of the API. @internal */
final readonly class Operation
{
    /**
     * @param 'needed'|'optional'|'none' $key whether it takes an API key
     * @param bool $repeatable it may be sent again: a GET, or a POST with an Idempotency-Key
     */
    public function __construct(
        public string $method,
        public string $path,
        public string $key,
        public bool $repeatable,
    ) {
    }
}
