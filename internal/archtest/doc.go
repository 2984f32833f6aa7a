// Package archtest checks the architecture of the module: imports point one way, only the
// command reads its process, expressions compile, and the number of lines only falls.
package archtest
