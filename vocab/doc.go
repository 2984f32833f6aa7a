// Package vocab defines the types and constants that all packages share: how an
// attempt ended, which image it ran in, what a command did, what a call used and
// costs, how an agent submits, and which instance ids are valid. Each is defined
// only here, so that a fact has the same form everywhere.
//
// It imports only the standard library.
package vocab
