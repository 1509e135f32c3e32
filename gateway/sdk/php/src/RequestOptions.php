<?php

declare(strict_types=1);

namespace Causeway;

/** Options of one call. */
final readonly class RequestOptions
{
    /**
     * @param string|null $idempotencyKey of a POST, 1 to 255 printable characters. Without it each call makes one of its own,
     *     which covers its repetitions. Give the id of your order, so that a repetition after a crash of your program has one
     *     effect too.
     * @param float|null $timeout seconds for one attempt, in place of the client's
     * @param int|null $maxRetries how often the request is repeated at most, in place of the client's
     */
    public function __construct(
        public ?string $idempotencyKey = null,
        public ?float $timeout = null,
        public ?int $maxRetries = null,
    ) {
    }
}
