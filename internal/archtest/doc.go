// Package archtest keeps the house in order: its test fails when a package
// imports what its room must not know, and when anything but cmd/batch talks
// to the process it runs in. The rules stand in the test.
package archtest
