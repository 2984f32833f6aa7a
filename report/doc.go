// Package report turns results into tables. Its functions are pure: the same records give the same
// bytes on every machine, at any time and for any terminal.
//
// No table counts an infrastructure failure as the agent's: every figure has its coverage beside
// it, the number of instances with a result.
//
// Its API is not promised to other programs: see package batch.
package report
