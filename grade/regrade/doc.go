// Package regrade grades saved logs again, without containers: it reads a tree of logs of
// the official harness or of batch, and writes the same reports again.
//
// Its API is not promised to other programs: see package batch.
package regrade
