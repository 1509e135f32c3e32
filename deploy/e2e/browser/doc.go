// Package browser tests the pages for people in a real Chromium: every flow from the first page to its end, on a
// phone's and a desktop's size, with and without JavaScript. A tab fails its test when the page asks another host for
// anything, breaks its Content-Security-Policy or throws. Screenshots of every step are left in the stack's directory
// under screens/.
//
// The tests need a running stack and a Chromium (CAUSEWAY_CHROMIUM, else one that is installed), and therefore carry
// the build tag integration; `bin/stack test` provides both.
package browser
