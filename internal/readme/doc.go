// Package readme keeps README.md true: its test runs every command that stands
// behind a "$ " in a block fenced as console, and compares what it prints.
//
// A block is fenced by ```console, and may say more behind that word:
//
//	docker         the block runs where the engine and the demo's images are
//	skip=REASON    the block is not run
//
// All blocks run in order in one empty directory, with batch on the PATH and no
// network. A command must end with exit code 0; write `cmd; echo $?` to show
// another. What follows it is its output, standard error included: "..." stands
// for any text within a line, and alone on a line for any lines. Where no output
// follows, none is compared. A command goes on over lines that end in "\".
package readme
