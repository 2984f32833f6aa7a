// Package vocab holds the words that all rooms share: how an attempt ended, which
// image it ran in, what a command did, what a call used and costs, how an agent
// submits, and what an instance may be called. Each is defined here and nowhere
// else, so that the same fact has one shape from the engine to the files.
//
// It imports the standard library alone, and does nothing.
package vocab
