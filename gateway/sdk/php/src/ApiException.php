<?php

declare(strict_types=1);

namespace Causeway;

/** The API refused a request. `errorCode` never changes its meaning; messages may. */
final class ApiException extends CausewayException
{
    public readonly string $errorCode;
    /** What support needs to find the request. */
    public readonly ?string $requestId;
    /** @var list<array{field: string, message: string}> */
    public readonly array $fields;

    /**
     * @param mixed $error the error inside of the answer; an answer that is not the API's has the code `unreadable_answer`
     * @param int|null $retryAfter seconds after which the API wants to be asked again, if it said so
     */
    public function __construct(public readonly int $status, mixed $error, ?string $requestId, public readonly ?int $retryAfter)
    {
        $known = is_array($error) && is_string($error['code'] ?? null) && is_string($error['message'] ?? null);
        $this->errorCode = $known ? $error['code'] : 'unreadable_answer';
        $this->requestId = $known && is_string($error['requestId'] ?? null) ? $error['requestId'] : $requestId;
        $this->fields = $known && is_array($error['fields'] ?? null) ? $error['fields'] : [];
        parent::__construct($known ? $error['message'] : "the answer with status $status is not Causeway's");
    }
}
