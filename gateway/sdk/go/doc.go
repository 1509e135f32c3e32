// Package causeway is a client of the Causeway API. It depends on the standard library alone.
//
// Every operation of the API is a method of Client: createPayment is CreatePayment. Amounts are Decimals and never pass
// through a float. A POST has an Idempotency-Key, and is repeated where repeating it helps and is safe.
package causeway

// Version is the version of this package.
const Version = "0.1.0"
