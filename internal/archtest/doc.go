// Package archtest checks the architecture of the module: imports point one way, only the
// command reads its process, start-up is quick, and the number of lines only falls.
package archtest
