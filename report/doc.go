// Package report turns results into tables. Its functions are pure: the same
// records give the same bytes, whatever the machine, the time or the terminal.
//
// No table counts an infrastructure failure as the agent's: beside every figure
// stands the coverage, how many of the instances have a result.
package report
