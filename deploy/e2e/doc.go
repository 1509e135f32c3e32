// Package e2e holds the black-box tests of the whole product: they speak to the gateway over HTTP, receive callbacks as
// a merchant would and import nothing from the services. Every exchange is checked against gateway/openapi.yaml on the
// way. The tests need a running stack and therefore carry the build tag integration; `bin/stack test` provides one.
package e2e
