// Package archtest has the tests about the source as a whole: which package may
// import which, that only cmd/batch touches the process it runs in, where exit
// statuses are written, and which words comments and messages avoid.
package archtest
