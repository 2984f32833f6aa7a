// Package tty does what each system's terminals do in its own way. It imports nothing of batch,
// so that it can be checked for another system without compiling everything for it.
package tty
